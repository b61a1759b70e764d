// Package promscrape reads the /metrics of engines and routers (Prometheus text format
// 0.0.4) while a load runs, and maps the names that vLLM, SGLang, TensorRT-LLM, Triton,
// TGI, Dynamo and llm-d have for one thing, and had before, to the signals of
// record.EngineSample.
//
// It keeps apart what must not be added: the workers that share a page, ranks of one
// replica that repeat each other, and routers that show the figures of the engines once
// more. What it cannot read is unknown and counted. It computes no rates; who reads the
// record does.
package promscrape
