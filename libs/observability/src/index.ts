export { ObservabilityModule, ProcessInfo, Readiness, type ServerInfo, skewOf, UnfitError } from './health.js';
export { FailureLog, JsonLogger, logWarnings, reportError, type ReportFields } from './logger.js';
export { type JobName, Metrics } from './metrics.js';
export type { OpenSpan, SpanOptions } from './open-telemetry.tracer.js';
export {
  beginTrace,
  continueTrace,
  currentTraceparent,
  inSpan,
  isTracing,
  recordInSpan,
  startTracing,
  stopTracing,
} from './tracing.js';
