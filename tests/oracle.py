"""pNML from its definition: refit for every label, integrate. Imports nothing of ours."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad


def design(X, intercept):
    """The rows with a column of ones where there is an intercept."""
    X = np.asarray(X, float)
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def ridge_fit(X, y, alpha, intercept, weights=None):
    """Penalised least squares by an augmented system; the intercept is not penalised."""
    A = design(X, intercept)
    w = np.sqrt(np.ones(len(A)) if weights is None else np.asarray(weights, float))
    penalty = np.sqrt(alpha) * np.eye(A.shape[1])
    if intercept:
        penalty[0, 0] = 0.0
    stacked = np.vstack([A * w[:, None], penalty])
    return np.linalg.lstsq(stacked, np.concatenate([y * w, np.zeros(A.shape[1])]), rcond=None)[0]


def ridge_genie_residual(X, y, x, label, alpha, intercept, weights=None):
    """Residual at (x, label) of the model refitted with that row added."""
    weights = np.ones(len(X)) if weights is None else weights
    theta = ridge_fit(
        np.vstack([X, x]), np.append(y, label), alpha, intercept, np.append(weights, 1.0)
    )
    return label - design(np.asarray(x)[None], intercept)[0] @ theta


def ridge_genie_density(X, y, x, alpha, noise_variance, intercept, weights=None):
    """The genie's density of its own label, as a function of the label."""

    def density(label):
        s = ridge_genie_residual(X, y, x, label, alpha, intercept, weights)
        return np.exp(-(s**2) / (2 * noise_variance)) / np.sqrt(2 * np.pi * noise_variance)

    return density


def integrate(density, centre, width):
    """∫ density over the line, in panels that grow with the distance from the centre."""
    edges = width * np.array([0.0, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 40])
    total = 0.0
    for sign in (-1.0, 1.0):
        for left, right in zip(edges[:-1], edges[1:], strict=True):
            f = lambda d, sign=sign: density(centre + sign * d)  # noqa: E731
            total += quad(f, left, right, epsabs=0, epsrel=1e-12)[0]
    return total


def ridge_normaliser(X, y, x, alpha, noise_variance, intercept, weights=None):
    """K of pNML for least squares with an ℓ2 penalty: ∫ over labels of the genie's density."""
    density = ridge_genie_density(X, y, x, alpha, noise_variance, intercept, weights)
    centre = design(np.asarray(x)[None], intercept)[0] @ ridge_fit(X, y, alpha, intercept, weights)
    slope = ridge_genie_residual(X, y, x, centre + 1.0, alpha, intercept, weights)
    return integrate(density, centre, np.sqrt(noise_variance) / slope)


def ridge_luckiness(X, y, x, alpha, noise_variance, intercept):
    """Relative regret, mean and standard deviation of ridge luckiness, by integration."""
    start = int(intercept)

    def fit_with(label):
        theta = ridge_fit(np.vstack([X, x]), np.append(y, label), alpha, intercept)
        residual = label - design(np.asarray(x)[None], intercept)[0] @ theta
        return residual, theta[start:] @ theta[start:]

    alone = ridge_fit(X, y, alpha, intercept)
    centre = design(np.asarray(x)[None], intercept)[0] @ alone
    norm = alone[start:] @ alone[start:]

    def density(label):
        residual, squared = fit_with(label)
        energy = residual**2 + alpha * (squared - norm)
        return np.exp(-energy / (2 * noise_variance)) / np.sqrt(2 * np.pi * noise_variance)

    width = np.sqrt(noise_variance) / abs(fit_with(centre + 1.0)[0] - fit_with(centre)[0])
    total = integrate(density, centre, width)
    mean = integrate(lambda v: v * density(v), centre, width) / total
    square = integrate(lambda v: (v - mean) ** 2 * density(v), centre, width) / total
    return np.log(total), mean, np.sqrt(square)


def bayes_ridge_density(X, y, x, alpha, noise_variance, labels):
    """Density of labels at x under the prior N(0, noise/alpha) on two weights, averaged over them.

    ∫ p(label | x, θ) p(θ | X, y) dθ as sums over a grid of weights; the fit only tells where to
    look and how finely. Exact to round-off, as the integrands are smooth and vanish at the ends.
    """
    scales = np.linalg.eigvalsh(X.T @ X + alpha * np.eye(2)) / noise_variance
    reach, step = 10 / np.sqrt(scales[0]), 0.4 / np.sqrt(scales[1])
    offsets = np.arange(-reach, reach + step, step)
    weights = np.stack(np.meshgrid(offsets, offsets), axis=-1).reshape(-1, 2)
    weights = weights + ridge_fit(X, y, alpha, False)
    energy = np.sum((y - weights @ X.T) ** 2, axis=1) + alpha * np.sum(weights**2, axis=1)
    posterior = np.exp(-(energy - energy.min()) / (2 * noise_variance))
    gaps = np.asarray(labels)[:, None] - weights @ x
    density = np.exp(-(gaps**2) / (2 * noise_variance)) / np.sqrt(2 * np.pi * noise_variance)
    return density @ posterior / posterior.sum()


def ridge_left_out(X, y, i, alpha, intercept, weights=None):
    """Fold i of ridge from a refit: prediction, K, B, C at row i without one copy of it.

    Of a row lighter than one copy all of it leaves.
    """
    weights = np.ones(len(X)) if weights is None else np.array(weights, float)
    weights[i] -= min(weights[i], 1.0)
    A = design(X, intercept)
    penalty = alpha * np.eye(A.shape[1])
    if intercept:
        penalty[0, 0] = 0.0
    P = np.linalg.inv((A.T * weights) @ A + penalty)
    theta = P @ (A.T @ (weights * y))
    start = int(intercept)
    Px = (P @ A[i])[start:]
    return A[i] @ theta, 1 + A[i] @ P @ A[i], theta[start:] @ Px, Px @ Px


def ball_instance(rng):
    """A random norm ball and new row: h2, t, a, b, radius and noise variance.

    Narrow and wide spectra, rows in the span, almost in it and out of it, and radii from well
    inside to well outside the least-squares fit.
    """
    r, wide = int(rng.integers(1, 6)), rng.random() < 0.5
    h = 10 ** rng.uniform(-6, 3, r) if wide else np.abs(rng.normal(size=r)) + 0.05
    t = rng.normal(size=r) * 10 ** rng.uniform(-2, 2)
    t = t / h * np.median(h) if rng.random() < 0.3 else t
    a = rng.normal(size=r) * 10 ** rng.uniform(-1, 1)
    a = a * h if wide and rng.random() < 0.5 else a
    a = a * (rng.random() > 0.05)
    outside = rng.choice([0.0, 1e-8, 1e-3, 0.1, 1.0, 10.0])
    b = outside * (np.linalg.norm(a) if np.any(a) else 1.0) + (not np.any(a))
    radius = rng.choice([0.3, 0.7, 0.95, 1.0, 1.0, 1.5, 3.0]) * np.linalg.norm(t)
    return h**2, t, a, float(b), float(radius), 10 ** rng.uniform(-6, 1)


def ball_told_residual(h2, t, a, b, radius, labels):
    """Residual at each label of the best model of norm at most `radius` that was told it.

    In the directions of the training rows, with the rest of the new row as one more direction:
    (diag(h2) + xxᵀ + λI)θ = h2·t + xy, with λ bisected until ‖θ‖ = radius. Extended precision.
    """
    real = np.longdouble
    h2, t = np.append(h2, 0).astype(real), np.append(t, 0).astype(real)
    x, y, radius = np.append(a, b).astype(real), np.asarray(labels, real), real(radius)
    g, xx = h2 * t, x * x

    def solve(lam):
        p = 1 / (h2 + lam[:, None])
        s = (y - p @ (x * g)) / (1 + p @ xx)
        return s, np.sqrt(np.sum((p * (g + x * s[:, None])) ** 2, axis=1))

    top = 2 * (np.sqrt(g @ g) + np.abs(y) * np.sqrt(x @ x)) / radius  # ‖θ‖ ≤ ‖g + xy‖/λ
    top = np.maximum(top, real(1e-30) * np.max(h2) + real(1e-60))
    low, high = np.full(y.shape, np.log(real(1e-40) * np.min(top))), np.log(top)
    for _ in range(70):
        middle = (low + high) / 2
        long = solve(np.exp(middle))[1] > radius
        low, high = np.where(long, middle, low), np.where(long, high, middle)
    return solve(np.exp(low))[0]


def ball_constrained(h2, t, radius):
    """Coefficients of the least-squares fit of norm at most `radius`."""
    if np.linalg.norm(t) <= radius:
        return t
    low, high = 1e-30 * h2.max(), np.linalg.norm(h2 * t) / radius
    for _ in range(100):
        lam = np.sqrt(low * high)
        long = np.linalg.norm(h2 * t / (h2 + lam)) > radius
        low, high = (lam, high) if long else (low, lam)
    return h2 * t / (h2 + low)


def ball_edges(h2, t, a, b, radius, sigma):
    """Panels in the label over |residual| < 9 sigma, graded towards both ends and every bend.

    The genie may bend at its own fit and where it meets the sphere.
    """
    reach, ends = radius * np.hypot(np.linalg.norm(a), b) + 10 * sigma, []
    for target in (-9 * sigma, 9 * sigma):
        low, high = -reach, reach  # |prediction| ≤ radius·‖x‖
        for _ in range(30):
            middle = np.array([(low + high) / 2])
            below = ball_told_residual(h2, t, a, b, radius, middle)[0] < target
            low, high = (middle[0], high) if below else (low, middle[0])
        ends.append(low if target < 0 else high)
    room, fit, p = radius**2 - t @ t, a @ t, a / h2
    bends = [fit, a @ ball_constrained(h2, t, radius)]
    if room > 0 and b > 0:
        bends += [fit - b * np.sqrt(room), fit + b * np.sqrt(room)]
    inside = (p @ t) ** 2 + (p @ p) * room
    if p @ p > 0 and inside >= 0:
        bends += [fit + (1 + a @ p) * (k * np.sqrt(inside) - p @ t) / (p @ p) for k in (-1, 1)]
    steps, centres = np.ptp(ends) * 8.0 ** -np.arange(9), np.array([*ends, *bends])
    edges = [centres, *(centres + step for step in steps), *(centres - step for step in steps)]
    return np.unique(np.clip(np.concatenate(edges), *ends))


def halving_integral(f, edges, tolerance=3e-10):
    """∫ f by Gauss–Legendre on panels that are halved where halving still changes them."""
    nodes, weights = np.polynomial.legendre.leggauss(10)

    def integral(left, right):
        half = (right - left) / 2
        return half * (f((left + half)[:, None] + half[:, None] * nodes) @ weights)

    left, right = edges[:-1], edges[1:]
    whole, total = integral(left, right), 0.0
    for _ in range(60):
        middle = (left + right) / 2
        first, second = integral(left, middle), integral(middle, right)
        size = abs(total) + np.sum(np.abs(first)) + np.sum(np.abs(second))
        rough = np.abs(first + second - whole) > tolerance * size / len(edges)
        total += np.sum((first + second)[~rough])
        left, right = np.r_[left[rough], middle[rough]], np.r_[middle[rough], right[rough]]
        whole = np.r_[first[rough], second[rough]]
        if not len(left):
            break
    return total + np.sum(whole)


def ball_normaliser(h2, t, a, b, radius, noise_variance):
    """K of pNML for the models of norm at most `radius`: ∫ over labels of the genie's density."""

    def density(y):
        s = ball_told_residual(h2, t, a, b, radius, y.ravel()).reshape(y.shape)
        return np.exp(-s * s / (2 * noise_variance)).astype(float)

    edges = ball_edges(h2, t, a, b, radius, np.sqrt(noise_variance))
    return halving_integral(density, edges) / np.sqrt(2 * np.pi * noise_variance)


def ball_told_residual_in_digits(h2, t, a, b, radius, label, digits=50):
    """The residual of `ball_told_residual` at one label, with that many digits."""
    import mpmath as mp

    with mp.workdps(digits):
        h2, t, x = ([mp.mpf(float(v)) for v in row] for row in ([*h2, 0], [*t, 0], [*a, b]))
        g = [u * v for u, v in zip(h2, t, strict=True)]
        radius, label = mp.mpf(float(radius)), mp.mpf(label)

        def solve(u):
            p = [1 / (h + mp.e**u) for h in h2]
            parts = list(zip(p, x, g, strict=True))
            s = (label - mp.fsum(i * j * k for i, j, k in parts)) / (
                1 + mp.fsum(i * j * j for i, j, _ in parts)
            )
            return s, mp.fsum((i * (k + j * s)) ** 2 for i, j, k in parts) - radius**2

        low, high = mp.mpf(-150), mp.log(2 * (mp.norm(g) + abs(label) * mp.norm(x)) / radius)
        if solve(low)[1] <= 0:
            return solve(low)[0]
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if solve(middle)[1] > 0 else (low, middle)
        root = mp.findroot(
            lambda u: solve(u)[1] / radius**2, (low, high), solver="anderson", verify=False
        )
        return solve(root)[0]


def min_norm_normaliser_in_digits(h2, t, a, b, noise_variance, digits=30, per_unit=16):
    """K of pNML in the ball of radius ‖t‖, by the trapezoid rule in the log of |label − fit|."""
    import mpmath as mp

    radius, fit = np.linalg.norm(t), float(a @ t)
    top = np.log(2 * radius * np.hypot(np.linalg.norm(a), b) + 10 * np.sqrt(noise_variance))
    grid = top - 26 + np.arange(26 * per_unit + 1) / per_unit
    total = mp.mpf(0)
    for sign in (-1, 1):
        for k, v in enumerate(grid):
            label = mp.mpf(fit) + sign * mp.e ** mp.mpf(v)
            s = ball_told_residual_in_digits(h2, t, a, b, radius, label, digits)
            total += mp.exp(v - s * s / (2 * noise_variance)) / per_unit / (2 if k == 0 else 1)
        total += mp.exp(grid[0])  # from the fit to the first label the residual is nothing
    return float(total / mp.sqrt(2 * mp.pi * noise_variance))


def ball_fit(X, y, radius, intercept):
    """Least squares with slopes of norm at most `radius`, by bisecting the ridge penalty."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        slopes = ridge_fit(X, y, np.exp(middle), intercept)[int(intercept) :]
        low, high = (middle, high) if np.linalg.norm(slopes) > radius else (low, middle)
    return ridge_fit(X, y, np.exp(low), intercept)


def ball_refit_residual(X, y, x, label, radius, intercept):
    """Residual at (x, label) of the model of the ball refitted with that row added."""
    theta = ball_fit(np.vstack([X, x]), np.append(y, label), radius, intercept)
    return label - design(np.asarray(x)[None], intercept)[0] @ theta


def min_norm_radius(X, y, intercept):
    """Norm of the slopes of the least-squares fit of smallest norm."""
    centred = X - X.mean(axis=0) if intercept else X
    return np.linalg.norm(np.linalg.pinv(centred) @ (y - y.mean() if intercept else y))


def lasso_residuals(X, y, penalty, intercept):
    """Residuals of the lasso: the projection of y on {z : |Xᵀz| ≤ penalty}, by NNLS.

    Unique even where the coefficients are not. The intercept is not penalised.
    """
    from scipy.optimize import nnls

    A = design(X, intercept)
    bound = np.tile(np.where(np.arange(A.shape[1]) < int(intercept), 0.0, penalty), 2)
    scale = np.linalg.norm(y) + 1e-300
    Z = np.hstack([A, -A])
    lacking = (Z.T @ y - bound) / scale  # least distance d with Zᵀd at least this
    E = np.vstack([Z, lacking])
    target = np.append(np.zeros(len(A)), 1.0)
    r = E @ nnls(E, target)[0] - target
    z = y + scale * r[:-1] / r[-1]
    # At a tie NNLS may stop early and say nothing; what it gives then is far outside the set.
    outside = Z.T @ z - bound
    assert np.all(outside <= 1e-7 * (penalty + scale * np.linalg.norm(Z, axis=0)))
    return z


def l1_genie(X, y, x, labels, penalty, intercept):
    """Residual at x and ‖θ‖₁ of the lasso refitted with each label."""
    rows, residuals, norms = np.vstack([X, x]), [], []
    for label in labels:
        told = np.append(y, label)
        z = lasso_residuals(rows, told, penalty, intercept)
        residuals.append(z[-1])
        norms.append(z @ (told - z) / penalty)  # θᵀXᵀz = penalty·‖θ‖₁
    return np.array(residuals), np.array(norms)


def l1_log_density(X, y, x, penalty, noise_variance, intercept):
    """Log of the genie's density of its own label times its relative luckiness, over labels."""
    z = lasso_residuals(X, y, penalty, intercept)
    norm = z @ (y - z) / penalty

    def log_density(labels):
        residual, norms = l1_genie(X, y, x, labels, penalty, intercept)
        exponent = (0.5 * residual**2 + penalty * (norms - norm)) / noise_variance
        return -exponent - 0.5 * np.log(2 * np.pi * noise_variance)

    return log_density


def l1_log_normaliser(X, y, x, penalty, noise_variance, intercept, centre, kinks):
    """log ∫ p w(θ̂_y)/w(θ_lasso) dy; centre and kinks only tell where to look and where to cut."""
    log_density = l1_log_density(X, y, x, penalty, noise_variance, intercept)
    nodes, weights = np.polynomial.legendre.leggauss(14)
    sd = noise_variance**0.5
    panels = sd * np.concatenate([np.arange(0.0, 8.0), 8 * 1.4 ** np.arange(60)])
    log_masses = [-np.inf]
    for side in (-1.0, 1.0):
        ends = np.unique(np.append(side * (np.asarray(kinks) - centre), panels))
        ends = ends[ends >= 0]
        # A kink that round-off has moved off the centre leaves a sliver, which holds no mass.
        ends = ends[np.append(True, np.diff(ends) > 1e-12 * (abs(centre) + ends[1:]))]
        for left, right in zip(ends[:-1], ends[1:], strict=True):
            u = (left + right) / 2 + (right - left) / 2 * nodes
            values = log_density(centre + side * u) + np.log(weights * (right - left) / 2)
            log_masses.append(np.logaddexp.reduce(values))
            if right > 8 * sd and values.max() - np.log(right - left) < max(log_masses) - 40:
                break
    return np.logaddexp.reduce(log_masses)


def piece_moments_in_digits(left, right, origin, q0, q1, q2, digits=250):
    """∫ exp(q0 + q1 t + q2 t²) y^k dy with t = y − origin, k = 0, 1, 2, from left to right."""
    import mpmath as mp

    with mp.workdps(digits):
        m, q0, q1, q2 = (mp.mpf(float(v)) for v in (origin, q0, q1, q2))

        def edge(end, power):  # tᵏ exp(q) at an end
            if np.isinf(end):
                return mp.mpf(0)
            t = mp.mpf(float(end)) - m
            return t**power * mp.exp(q0 + q1 * t + q2 * t * t)

        def between(power):
            return edge(right, power) - edge(left, power)

        if q2 != 0:
            root = mp.sqrt(-q2)
            ends = [
                mp.sign(end) * mp.inf
                if np.isinf(end)
                else root * (mp.mpf(float(end)) - m) - q1 / (2 * root)
                for end in (left, right)
            ]
            peak = mp.exp(q0 - q1 * q1 / (4 * q2))
            if ends[0] < 0 < ends[1]:
                area = mp.erf(ends[1]) - mp.erf(ends[0])
            else:  # in a tail: no difference of numbers near one
                area = abs(mp.erfc(abs(ends[0])) - mp.erfc(abs(ends[1])))
            flat = peak * mp.sqrt(mp.pi) / (2 * root) * area
            first = (between(0) - q1 * flat) / (2 * q2)
            second = (between(1) - flat - q1 * first) / (2 * q2)
        elif q1 != 0:
            flat = between(0) / q1
            first = (between(1) - flat) / q1
            second = (between(2) - 2 * first) / q1
        else:
            l, r = mp.mpf(float(left)) - m, mp.mpf(float(right)) - m  # noqa: E741
            flat, first, second = (mp.exp(q0) * (r**k - l**k) / k for k in (1, 2, 3))
        return flat, first + m * flat, second + 2 * m * first + m * m * flat


def envelope_log_mass(means, stds, cuts):
    """log ∫ max_k N(y; mean_k, std_k) dy by quadrature; the cuts only tell where to divide."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    reach = np.linspace(-38, 38, 39)
    points = np.concatenate([np.ravel(means + np.outer(reach, stds)), cuts])
    ends = np.unique(points[np.isfinite(points)])
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    y = middle[:, None] + half[:, None] * nodes
    z = (y[..., None] - means) / stds
    heights = np.max(np.exp(-0.5 * z * z) / stds, axis=-1) / np.sqrt(2 * np.pi)
    return float(np.log(np.sum(half[:, None] * weights * heights)))


def class_probabilities_in_digits(logits):
    """Softmax of logits as mpmath numbers of the precision in use."""
    import mpmath as mp

    z = [mp.mpf(float(v)) if np.isfinite(v) else mp.mpf("-inf") for v in logits]
    powers = [mp.exp(v - max(z)) for v in z]
    return [e / sum(powers) for e in powers]


def single_layer_genies(p, pull):
    """p / (p + p^pull (1 − p)): each class once the single-layer genie was told it."""
    return [0 * q if q == 0 and pull < 1 else 1 / (1 + q ** (pull - 1) * (1 - q)) for q in p]


def single_layer_regret(logits, leverage, digits=60):
    """log Σ genies for a row of logits and its leverage, to full float64 accuracy."""
    import mpmath as mp

    with mp.workdps(digits + 400):  # the sum is 1 plus what may be as small as 1e-300
        h = mp.mpf(float(leverage)) if np.isfinite(leverage) else None
        pull = mp.mpf(1) if h is None else h / (1 + h)
        return float(
            mp.log(mp.fsum(single_layer_genies(class_probabilities_in_digits(logits), pull)))
        )


def pull_by_refit(X, x, alpha, intercept, weights=None):
    """How far a row's own label takes its prediction: refit with the row at 1, all others at 0."""
    w = np.append(np.ones(len(X)) if weights is None else weights, 1.0)
    labels = np.append(np.zeros(len(X)), 1.0)
    theta = ridge_fit(np.vstack([X, x]), labels, alpha, intercept, w)
    return float(design(np.asarray(x)[None], intercept)[0] @ theta)


def told_leaf(leaves, targets, at, target, weights=None):
    """Targets and weights in each tree's leaf `at` (T,), once a row there was told its target."""
    weights = np.ones(len(targets)) if weights is None else np.asarray(weights, float)
    for tree, leaf in enumerate(at):
        inside = leaves[:, tree] == leaf
        yield np.append(targets[inside], target), np.append(weights[inside], 1.0)


def forest_class_genies(leaves, labels, at, classes, weights=None):
    """Probability of each class once told, by counting; leaves (n, T) of the training rows."""
    genies = []
    for c in range(classes):
        found = told_leaf(leaves, labels, at, c, weights)
        genies.append(np.mean([w[y == c].sum() / w.sum() for y, w in found]))
    return np.array(genies)


def forest_value_residual(leaves, y, at, target, weights=None):
    """What is left of a target once all trees were told it, by averaging their leaves."""
    found = told_leaf(leaves, y, at, target, weights)
    return target - np.mean([np.average(values, weights=w) for values, w in found])


def forest_value_normaliser(leaves, y, at, noise_variance, weights=None):
    """Centre of the told forest's density, and its integral over the targets."""
    at_0, at_1 = (forest_value_residual(leaves, y, at, v, weights) for v in (0.0, 1.0))
    sigma = np.sqrt(noise_variance)

    def density(target):
        s = forest_value_residual(leaves, y, at, target, weights)
        return np.exp(-(s**2) / (2 * noise_variance)) / (np.sqrt(2 * np.pi) * sigma)

    centre = -at_0 / (at_1 - at_0)
    return centre, integrate(density, centre, sigma / (at_1 - at_0))


def lucky_leaf_scores(counts, prior):
    """Genie times relative luck of each class in a leaf, by maximising over distributions."""
    from scipy.optimize import minimize

    def fit(total):  # argmax of Σ total log θ, θ = softmax(z)
        def loss(z):
            theta = np.exp(z - z.max())
            theta /= theta.sum()
            return -total @ np.log(theta), total.sum() * theta - total

        z = minimize(loss, np.zeros(len(total)), jac=True, options={"gtol": 1e-10}).x
        return np.exp(z - z.max()) / np.exp(z - z.max()).sum()

    counts = np.asarray(counts, float)
    plain = fit(counts + prior)
    scores = []
    for c in range(len(counts)):
        told = fit(counts + prior + np.eye(len(counts))[c])
        scores.append(told[c] * np.exp(prior * np.sum(np.log(told) - np.log(plain))))
    return np.array(scores)


def logistic_fit(X, y, classes, alpha, intercept, weights=None, start=None):
    """Weights (C, M) of Σ CE + (α/2)‖W‖² by Newton's method; the intercepts, first, are free.

    What is added to all classes alike in a free column changes no probability; it is kept at 0.
    """
    A = design(X, intercept)
    w = np.ones(len(A)) if weights is None else np.asarray(weights, float)
    C, M = classes, A.shape[1]
    penalty = np.full(M, float(alpha))
    penalty[: int(intercept)] = 0.0
    free = np.diag((penalty == 0).astype(float))
    pinned = np.diag(np.tile(penalty, C)) + np.kron(np.ones((C, C)), free)
    W = np.zeros((C, M)) if start is None else np.array(start, float)
    if start is not None:
        W -= W.mean(axis=0) @ free

    def log_p(W):
        z = A @ W.T
        z -= z.max(axis=1, keepdims=True)
        return z - np.log(np.exp(z).sum(axis=1, keepdims=True))

    def value(W):
        return -w @ log_p(W)[np.arange(len(A)), y] + W.ravel() @ pinned @ W.ravel() / 2

    best = np.inf
    for _ in range(200):
        p = np.exp(log_p(W))
        g = ((p - np.eye(C)[y]).T * w) @ A
        g = g.ravel() + pinned @ W.ravel()
        if np.abs(g).max() < 1e-12 or (np.abs(g).max() < 1e-9 and np.abs(g).max() >= best):
            break  # the second: round-off is reached
        best = np.abs(g).max()
        H = pinned.copy().reshape(C, M, C, M)
        for c in range(C):
            for d in range(c + 1):
                H[c, :, d] += (A.T * (w * p[:, c] * ((c == d) - p[:, d]))) @ A
                H[d, :, c] = H[c, :, d]
        damped = H.reshape(C * M, C * M) + 1e-3 * np.abs(g).max() * np.eye(C * M)
        step = -np.linalg.solve(damped, g).reshape(C, M)
        length, here = 1.0, value(W)
        while value(W + length * step) > here + 1e-13 * abs(here) and length > 1e-9:
            length /= 2
        W = W + length * step
    assert np.abs(g).max() < 1e-8
    return W


def logistic_genies(X, y, classes, rows, alpha, intercept, weights=None):
    """Probability (T, C) of each label of each row by the model refitted with row and label."""
    w = np.append(np.ones(len(X)) if weights is None else weights, 1.0)
    before = logistic_fit(X, y, classes, alpha, intercept, weights)
    genies = np.empty((len(rows), classes))
    for t, x in enumerate(rows):
        for c in range(classes):
            told = np.vstack([X, x]), np.append(y, c)
            W = logistic_fit(*told, classes, alpha, intercept, w, before)
            z = design(x[None], intercept)[0] @ W.T
            genies[t, c] = np.exp(z[c] - z.max()) / np.exp(z - z.max()).sum()
    return genies


def arcsine(p):
    """arcsin √p, half the angle on which the Fisher information of one label is 1."""
    return np.arcsin(np.sqrt(p))


def logistic_instance(rng):
    """Rows, labels, classes, strength, intercept or not, and new rows: anything one may meet."""
    N, M, C = int(rng.integers(20, 201)), int(rng.integers(1, 11)), int(rng.integers(2, 7))
    alpha, scale = 10 ** rng.uniform(-2.5, 2), 10 ** rng.uniform(-1, 1)
    X = rng.normal(size=(N, M)) * scale
    W = rng.normal(size=(C, M)) * rng.choice([0.3, 1.0, 5.0])
    y = (X @ W.T + rng.gumbel(size=(N, C)) * rng.choice([0.1, 1.0]) * scale).argmax(axis=1)
    y[:C] = np.arange(C)
    new = rng.normal(size=(5, M)) * scale * rng.choice([1.0, 5.0])
    return X, y, C, alpha, bool(rng.integers(2)), new


def towards(network, x, label, strength, steps, size, bounds):
    """All points (steps + 1, ...) of one input on its way towards a label, by the loss itself."""
    import torch

    points = [x]
    for _ in range(steps):
        at = points[-1].clone().requires_grad_(True)
        loss = -torch.log_softmax(network(at[None])[0], dim=0)[label]
        (g,) = torch.autograd.grad(loss, at)
        moved = points[-1] - size * torch.sign(g)
        moved = torch.minimum(torch.maximum(moved, x - strength), x + strength)
        points.append(torch.clamp(moved, *bounds).detach())
    return torch.stack(points)


def hypotheses(network, x, classes, strength, steps, size, bounds):
    """Log-probability [refined towards, judged] (C, C) of one input, by two loops."""
    import torch

    found = torch.zeros(classes, classes, dtype=torch.float64)
    for label in range(classes):
        refined = towards(network, x, label, strength, steps, size, bounds)[-1]
        p = torch.softmax(network(refined[None])[0].double(), dim=0)
        for judged in range(classes):
            found[label, judged] = torch.log(p[judged])
    return found.detach()


def soft_step_slope(network, x, at, label, strength, size, bounds, softness, h=1e-5):
    """Derivatives (d, d) by x and by the point of one soft step of a vector, by differences."""
    import torch

    def step(x, at):
        at = at.clone().requires_grad_(True)
        loss = -torch.log_softmax(network(at[None])[0], dim=0)[label]
        (g,) = torch.autograd.grad(loss, at)
        moved = at.detach() - size * torch.tanh(g / (softness * g.abs().mean()))
        moved = torch.minimum(torch.maximum(moved, x - strength), x + strength)
        return torch.clamp(moved, *bounds)

    by_x, by_at = [], []
    for e in h * torch.eye(len(x), dtype=x.dtype):
        by_x.append((step(x + e, at) - step(x - e, at)) / (2 * h))
        by_at.append((step(x, at + e) - step(x, at - e)) / (2 * h))
    return torch.stack(by_x, dim=1), torch.stack(by_at, dim=1)


def dial_row(weights, targets):
    """Sum over targets of the log of what their labels sum to, each by its best model."""
    total = 0.0
    for k in range(targets.shape[1]):
        normaliser = 0.0
        for c in range(targets.shape[2]):
            best, winner = -np.inf, 0
            for m in range(len(targets)):
                if targets[m, k, c] + weights[m] > best:
                    best, winner = targets[m, k, c] + weights[m], m
            normaliser += np.exp(targets[winner, k, c])
        total += np.log(normaliser)
    return total


def dial_scores(candidates, targets):
    """Score of every label of every candidate, by loops over everything."""
    _, N, C = candidates.shape
    rows = [[dial_row(candidates[:, i, j], targets) for j in range(C)] for i in range(N)]
    return np.array(rows)


def dial_batch(candidates, targets, n):
    """Greedy picks; each has the least worst case over the labels of all picks together."""
    picks, sequences = [], [np.zeros(len(candidates))]
    for _ in range(n):
        worst = {
            i: max(
                dial_row(w + candidates[:, i, j], targets)
                for w in sequences
                for j in range(candidates.shape[2])
            )
            for i in range(candidates.shape[1])
            if i not in picks
        }
        picks.append(min(worst, key=lambda i: (worst[i], i)))
        sequences = [w + a for w in sequences for a in candidates[:, picks[-1]].T]
    return picks


def ridge_regret(X, x, alpha, intercept):
    """Log of how much a refit with the row and any label shrinks its residual."""
    y, label = np.arange(len(X)) % 3.0, 5.0
    before = label - float(design(x[None], intercept)[0] @ ridge_fit(X, y, alpha, intercept))
    return float(np.log(before / ridge_genie_residual(X, y, x, label, alpha, intercept)))


def mean_ridge_regret(X, targets, alpha, intercept):
    """Mean over targets, a refit each."""
    return float(np.mean([ridge_regret(X, x, alpha, intercept) for x in targets]))
