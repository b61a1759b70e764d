// Answers completions with a stream of tokens, and tells of each answer by a span as vLLM
// names it, which the OpenTelemetry SDK of JavaScript makes, batches and sends. It prints
// its port, and ends with its standard input.
//
//   node server.mjs grpc|proto|json ENDPOINT
import { createServer } from 'node:http';
import { ROOT_CONTEXT, SpanKind, defaultTextMapGetter } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { OTLPTraceExporter as Grpc } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as Json } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as Proto } from '@opentelemetry/exporter-trace-otlp-proto';

const [kind, url] = process.argv.slice(2);
const exporter = new { grpc: Grpc, proto: Proto, json: Json }[kind]({ url, compression: kind === 'json' ? 'none' : 'gzip' });
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'other-language' }),
  spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 200 })],
});
const tracer = provider.getTracer('server');
const propagator = new W3CTraceContextPropagator();
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const server = createServer(async (req, res) => {
  if (req.method === 'GET') {
    res.setHeader('Content-Type', 'application/json');
    res.end(req.url === '/v1/models' ? '{"object":"list","data":[{"id":"m","object":"model"}]}' : '{}');
    return;
  }
  const from = performance.now();
  let text = '';
  for await (const part of req) text += part;
  const body = JSON.parse(text);
  const parent = propagator.extract(ROOT_CONTEXT, req.headers, defaultTextMapGetter);
  const span = tracer.startSpan('llm_request', { kind: SpanKind.SERVER }, parent);
  res.setHeader('Content-Type', 'text/event-stream');
  const n = body.max_tokens;
  const send = (o) => res.write(`data: ${JSON.stringify(o)}\n\n`);
  await sleep(20);
  const first = performance.now();
  for (let i = 0; i < n; i++) {
    send({ id: 'c', object: 'text_completion', model: 'm', choices: [{ index: 0, text: ' a', finish_reason: i + 1 === n ? 'length' : null }] });
    await sleep(2);
  }
  const last = performance.now();
  const prompt = Array.isArray(body.prompt) ? body.prompt.length : 1;
  send({ id: 'c', object: 'text_completion', model: 'm', choices: [], usage: { prompt_tokens: prompt, completion_tokens: n, total_tokens: prompt + n } });
  res.end('data: [DONE]\n\n');
  span.setAttributes({
    'gen_ai.latency.time_to_first_token': (first - from) / 1e3, 'gen_ai.latency.e2e': (last - from) / 1e3,
    'gen_ai.latency.time_in_queue': 0, 'gen_ai.latency.time_in_model_prefill': (first - from) / 1e3,
    'gen_ai.latency.time_in_model_decode': (last - first) / 1e3,
    'gen_ai.usage.prompt_tokens': prompt, 'gen_ai.usage.completion_tokens': n, 'gen_ai.request.id': String(req.headers['x-request-id']),
  });
  span.end();
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', async () => {
  await provider.shutdown();
  process.exit(0);
});
