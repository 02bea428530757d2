// Formulas arrive as \(…\) or \[…\] in elements of the class "arithmatex". Each is drawn when it
// comes near the window, so that a page of a thousand formulas opens at once.
const pending = new Set(document.querySelectorAll(".arithmatex"));

function draw(element) {
  if (!pending.delete(element)) return;
  const text = element.textContent.trim();
  katex.render(text.slice(2, -2), element, {
    displayMode: text.startsWith("\\["),
    throwOnError: false,
  });
}

const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(entry.target);
    }
  },
  { rootMargin: "1500px 0px" },
);
pending.forEach((element) => near.observe(element));
addEventListener("beforeprint", () => [...pending].forEach(draw));
