import { Injectable } from '@nestjs/common';
import type { Caller } from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import { compileCondition, parseWhere } from '#object-query';
import { ObjectsRepository } from './objects.repository.js';
import { Readings } from './readings.js';
import type { StoredClassName } from './reading.types.js';

/** The condition of a write (`?where=`), to be asked once its object is locked. */
export interface UpdateCondition {
  /** @throws AppError NO_EFFECT where the object does not meet it */
  assertMet(tx: Tx, objectId: string): Promise<void>;
}

const ALWAYS_MET: UpdateCondition = { assertMet: () => Promise.resolve() };

/** Reads the conditions of writes. */
@Injectable()
export class UpdateConditions {
  constructor(
    private readonly readings: Readings,
    private readonly objects: ObjectsRepository,
  ) {}

  /** @throws AppError INVALID_QUERY, also for what the caller may not ask about */
  async prepare(caller: Caller, className: StoredClassName, where: unknown): Promise<UpdateCondition> {
    if (where === undefined) return ALWAYS_MET;
    const condition = parseWhere(where);
    const reading = await this.readings.of(caller);
    const queryClass = reading.queryClassOf(className);
    return {
      assertMet: async (tx, objectId) => {
        const compiled = compileCondition(condition, queryClass, reading.scope, [caller.appId, objectId]);
        if (!(await this.objects.matches(tx, queryClass, compiled))) throw appError('NO_EFFECT');
      },
    };
  }
}
