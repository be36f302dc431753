import { Injectable } from '@nestjs/common';
import { ALL_APPLICATIONS, consoleApi, type RouteReply } from '#console-api';
import { type ConsoleRequest, Handles, type SignedIn } from '../routing/console-handler.js';
import { AuditRepository } from './audit.repository.js';
import { type AuditFilter, cursorAfter } from './audit.rules.js';

type Api = typeof consoleApi;

/** The audit log, as far as the operator may see it. */
@Injectable()
export class AuditHandlers {
  constructor(private readonly audit: AuditRepository) {}

  @Handles(consoleApi.listAudit)
  async list({ query, operator }: ConsoleRequest<Api['listAudit']>): Promise<RouteReply<Api['listAudit']>> {
    const { limit, ...filter } = query;
    const found = await this.audit.list({ ...filter, visible: visibleTo(operator) }, limit);
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items, next: last === undefined ? null : cursorAfter(last) };
  }
}

/** An owner sees all acts, a developer those on the applications of the grants, everyone their own. */
function visibleTo({ id, isOwner, grants }: SignedIn): AuditFilter['visible'] {
  const developed = grants.filter(({ role }) => role === 'developer').map(({ appId }) => appId);
  if (isOwner) return undefined;
  return { operatorId: id, appIds: developed, everyApplication: developed.includes(ALL_APPLICATIONS) };
}
