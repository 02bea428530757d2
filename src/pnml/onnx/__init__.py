"""Models as ONNX graphs: prediction and regret wherever ONNX runs, without Python of ours."""

from pnml.onnx.export import export_onnx as export_onnx
