import { randomUUID } from 'node:crypto';
import { Controller, Logger } from '@nestjs/common';
import { consoleRpc, type RpcData, type RpcReply } from '#contracts';
import { toAppError } from '#errors';
import { RpcHandler } from '#messaging';
import { reportError } from '#observability';
import { AuditRepository, type BegunAct, type EndedAct } from '../audit/audit.repository.js';
import { changeOf, outcomeOf } from '../audit/audit.rules.js';
import { linkKindOf, stateOf } from './operator.rules.js';
import { OperatorsRepository } from './operators.repository.js';
import { SignInService } from './sign-in.service.js';

const logger = new Logger('Console');

type Rpc = typeof consoleRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class ConsoleController {
  constructor(
    private readonly operators: OperatorsRepository,
    private readonly signIn: SignInService,
    private readonly audit: AuditRepository,
  ) {}

  @RpcHandler(consoleRpc.createSetUpLink)
  async createSetUpLink({ by }: Data<'createSetUpLink'>): Reply<'createSetUpLink'> {
    if (await this.operators.hasOwner()) return { link: null };
    const link = await this.#audited(commandOf('createSetUpLink', by, null), () =>
      this.signIn.createLink('setUp', null),
    );
    return { link };
  }

  @RpcHandler(consoleRpc.recoverOperator)
  async recoverOperator({ address, by }: Data<'recoverOperator'>): Reply<'recoverOperator'> {
    const operator = await this.operators.get({ address });
    return this.#audited(commandOf('recoverOperator', by, operator.id), async () => {
      return { link: await this.signIn.createLink(linkKindOf(operator), operator.id) };
    });
  }

  @RpcHandler(consoleRpc.disableOperator)
  async disableOperator({ address, by }: Data<'disableOperator'>): Reply<'disableOperator'> {
    const { id } = await this.operators.get({ address });
    return this.#audited(commandOf('disableOperator', by, id), async () => {
      await this.operators.setDisabled(id, true);
      return {};
    });
  }

  @RpcHandler(consoleRpc.listOperators)
  async listOperators(_: Data<'listOperators'>): Reply<'listOperators'> {
    const operators = (await this.operators.list()).map((row) => ({
      ...row,
      grants: [...row.grants],
      state: stateOf(row),
      lastSeenAt: row.lastSeenAt?.toISOString() ?? null,
    }));
    return { operators };
  }

  @RpcHandler(consoleRpc.listAudit)
  async listAudit({ limit, ...filter }: Data<'listAudit'>): Reply<'listAudit'> {
    const { items, next } = await this.audit.page(filter, limit);
    return { entries: items, next };
  }

  @RpcHandler(consoleRpc.beginAction)
  async beginAction({ by, appId, action, target, change }: Data<'beginAction'>): Reply<'beginAction'> {
    const act = { ...commandOf(action, by, target ?? null), appId: appId ?? null, change: changeOf(change) };
    return { id: await this.audit.begin(act) };
  }

  @RpcHandler(consoleRpc.endAction)
  async endAction({ id, outcome, errorName }: Data<'endAction'>): Reply<'endAction'> {
    await this.audit.end(id, { outcome, errorName });
    return {};
  }

  async #audited<T>(act: BegunAct, work: () => Promise<T>): Promise<T> {
    const id = await this.audit.begin(act);
    // Does not throw: the act is done, and a lost outcome is shown as unknown.
    const end = (ended: EndedAct) =>
      this.audit.end(id, ended).catch((error: unknown) => {
        reportError(logger, toAppError(error), { requestId: act.requestId });
      });
    try {
      const result = await work();
      await end({ outcome: 'done' });
      return result;
    } catch (thrown) {
      const error = toAppError(thrown);
      await end({ outcome: outcomeOf(error), errorName: error.errorName });
      throw error;
    }
  }
}

function commandOf(action: string, by: string, target: string | null): BegunAct {
  return {
    way: 'cli',
    action,
    operatorId: null,
    operatorName: by,
    network: null,
    appId: null,
    target,
    change: {},
    requestId: randomUUID(),
  };
}
