"""Models as ONNX graphs: prediction and regret in any ONNX runtime, without Python."""

from pnml.onnx.export import export_onnx as export_onnx
