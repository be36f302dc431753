import { Injectable } from '@nestjs/common';
import type { Caller } from '#contracts';
import { inLockOrder } from '#objects';
import { ClassAccess } from '../class-permissions/class-access.js';
import { UpdateConditions } from '../objects/update-conditions.js';
import { UserAccess } from './user-access.js';
import { UserWriter } from './user-writer.js';

/** DELETE /1.1/users/<objectId>[,…]: all of them or none. */
@Injectable()
export class RemoveUsersService {
  constructor(
    private readonly classes: ClassAccess,
    private readonly conditions: UpdateConditions,
    private readonly access: UserAccess,
    private readonly writer: UserWriter,
  ) {}

  /** @throws AppError as for a change; NO_EFFECT where one of them does not meet the condition */
  async remove(caller: Caller, objectIds: readonly string[], where: unknown): Promise<void> {
    await this.classes.assertMay(caller, 'delete', '_User');
    const condition = await this.conditions.prepare(caller, '_User', where);
    await this.writer.transaction(async (tx) => {
      for (const objectId of inLockOrder(objectIds)) {
        const isRemoved = await this.writer.remove(tx, caller, objectId, async (current) => {
          await this.access.assertMayWrite(caller, current, tx);
          await condition.assertMet(tx, objectId);
        });
        if (!isRemoved) throw this.access.missing(caller);
      }
    });
  }
}
