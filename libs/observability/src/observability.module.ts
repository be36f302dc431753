import { type DynamicModule, Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { Metrics } from './metrics.js';
import { ProcessFacts } from './process-facts.js';
import { Readiness } from './readiness.js';

/** Health, readiness and metrics of one process. */
@Module({})
export class ObservabilityModule {
  static forRoot(metrics: Metrics): DynamicModule {
    return {
      module: ObservabilityModule,
      global: true,
      controllers: [HealthController],
      providers: [ProcessFacts, Readiness, { provide: Metrics, useValue: metrics }],
      exports: [ProcessFacts, Readiness, Metrics],
    };
  }
}
