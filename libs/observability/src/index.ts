export { FailureLog } from './failure-log.js';
export { type ReportFields, reportError } from './report-error.js';
export { JsonLogger } from './logger.js';
export { type JobName, Metrics } from './metrics.js';
export { ObservabilityModule } from './observability.module.js';
export { ProcessFacts, type ServerFacts, skewOf } from './process-facts.js';
export { Readiness } from './readiness.js';
export type { OpenSpan, SpanOptions } from './tracing/tracer.types.js';
export {
  beginTrace,
  continueTrace,
  currentTraceparent,
  inSpan,
  isTracing,
  noteInSpan,
  startTracing,
  stopTracing,
} from './tracing/tracing.js';
