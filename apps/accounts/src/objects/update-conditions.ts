import { Injectable } from '@nestjs/common';
import type { Caller } from '#contracts';
import { ALWAYS_MET, type UpdateCondition, updateCondition } from '#objects/store';
import type { StoredClassName } from './reading.types.js';
import { Readings } from './readings.js';

/** Reads the conditions of writes. */
@Injectable()
export class UpdateConditions {
  constructor(private readonly readings: Readings) {}

  /** @throws AppError INVALID_QUERY, also for what the caller may not ask about */
  async prepare(caller: Caller, className: StoredClassName, where: unknown): Promise<UpdateCondition> {
    if (where === undefined) return ALWAYS_MET;
    const reading = await this.readings.of(caller);
    return updateCondition(where, reading.queryClassOf(className), reading.scope);
  }
}
