import type { Logger } from '@nestjs/common';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';

type Done = Parameters<SpanExporter['export']>[1];

/** Spans that cannot be handed over are lost. The log says so when that begins, and when it is over. */
export class ReportingExporter implements SpanExporter {
  #isFailing = false;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly logger: Logger,
  ) {}

  export(spans: ReadableSpan[], done: Done): void {
    this.exporter.export(spans, (result) => {
      this.#note(result.error);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  /** By name and code: the collector's address may hold a password. */
  #note(error: (Error & { readonly code?: string | number }) | undefined): void {
    if ((error !== undefined) === this.#isFailing) return;
    this.#isFailing = error !== undefined;
    if (error === undefined) this.logger.log('exported again');
    else this.logger.warn(`cannot be exported, and are lost: ${String(error.code ?? error.name)}`);
  }
}
