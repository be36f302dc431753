import { Injectable, Logger } from '@nestjs/common';
import { ALL_APPLICATIONS, type AuditEntry, consoleApi, permissionsFor } from '#console-api';
import { operatorMailsRpc, sealedInvitationContext } from '#contracts';
import { messageOf } from '#errors';
import { RpcClient } from '#messaging';
import { Sealer } from '#security';
import { AuditRepository } from '../audit/audit.repository.js';
import type { AuditFilter } from '../audit/audit.rules.js';
import { Handles, type ReplyOf, type RequestOf, type SignedIn } from '../routing/console-handler.js';
import { pagesOf } from '../routing/list.rules.js';
import { linkKindOf, type OperatorRow, presentOperator, sortedGrants, undoFor } from './operator.rules.js';
import { OperatorsRepository } from './operators.repository.js';
import { SignInRepository } from './sign-in.repository.js';
import { SignInService } from './sign-in.service.js';

type InvitationLink = ReplyOf<'inviteOperator'>['link'];
type OneOperator = ReplyOf<'changeOperator'>;

/** An entry has at most 64 KiB. */
const AUDIT_PAGE = 200;

@Injectable()
export class OperatorsHandlers {
  readonly #logger = new Logger('Operators');

  constructor(
    private readonly operators: OperatorsRepository,
    private readonly sessions: SignInRepository,
    private readonly signIn: SignInService,
    private readonly audit: AuditRepository,
    private readonly sealer: Sealer,
    private readonly rpc: RpcClient,
  ) {}

  @Handles(consoleApi.listOperators)
  async list(): Promise<ReplyOf<'listOperators'>> {
    const rows = await this.operators.list();
    const locks = await this.signIn.locks(rows.map(({ address }) => address));
    return { items: rows.map((row) => presentOperator(row, locks)) };
  }

  @Handles(consoleApi.inviteOperator)
  async invite(request: RequestOf<'inviteOperator'>): Promise<ReplyOf<'inviteOperator'>> {
    const { language, ...invited } = request.body;
    const id = await this.operators.invite({ ...invited, grants: sortedGrants(invited.grants) });
    request.act = { target: id };
    const link = await this.#invitationLink({ id, address: invited.address }, { by: request.operator, language });
    return { ...(await this.#one(id)), link };
  }

  @Handles(consoleApi.changeOperator)
  async change(request: RequestOf<'changeOperator'>): Promise<OneOperator> {
    const { operatorId } = request.params;
    const { isDisabled } = await this.operators.get({ id: operatorId });
    request.act = { before: { isDisabled } };
    await this.operators.setDisabled(operatorId, request.body.isDisabled);
    return this.#one(operatorId);
  }

  @Handles(consoleApi.setGrants)
  async setGrants(request: RequestOf<'setGrants'>): Promise<OneOperator> {
    const { operatorId } = request.params;
    const { isOwner, grants } = await this.operators.get({ id: operatorId });
    request.act = { before: { isOwner, grants } };
    const { former, ...wanted } = request.body;
    await this.operators.setRights(operatorId, wanted, former);
    return this.#one(operatorId);
  }

  @Handles(consoleApi.endOperatorSessions)
  async endSessions({ params }: RequestOf<'endOperatorSessions'>): Promise<{ ended: number }> {
    await this.operators.get({ id: params.operatorId });
    return { ended: await this.sessions.endSessions(params.operatorId) };
  }

  @Handles(consoleApi.createOperatorLink)
  async createLink(request: RequestOf<'createOperatorLink'>): Promise<{ link: InvitationLink }> {
    const { params, operator: by, body } = request;
    const row = await this.operators.get({ id: params.operatorId });
    if (linkKindOf(row) === 'invitation') return { link: await this.#invitationLink(row, { by, ...body }) };
    return { link: { ...(await this.signIn.createLink('recovery', row.id)), isMailed: false } };
  }

  @Handles(consoleApi.listAudit)
  async listAudit({ query, operator }: RequestOf<'listAudit'>): Promise<ReplyOf<'listAudit'>> {
    const { limit, ...filter } = query;
    const { items, next } = await this.audit.page({ ...filter, visible: visibleTo(operator) }, limit);
    const permissions = (appId: string | null) => permissionsFor(operator, appId ?? ALL_APPLICATIONS);
    return { items: items.map((entry) => ({ ...entry, undo: undoFor(entry, permissions(entry.appId)) })), next };
  }

  @Handles(consoleApi.exportAudit)
  exportAudit(request: RequestOf<'exportAudit'>): AsyncIterable<readonly AuditEntry[]> {
    const { format: _, ...filter } = request.query;
    return pagesOf<AuditEntry, string>((after) =>
      this.audit.page({ ...filter, visible: visibleTo(request.operator), after }, AUDIT_PAGE),
    );
  }

  /** The page shows the link even if the mail service does not reply. */
  async #invitationLink(
    { id, address }: Pick<OperatorRow, 'id' | 'address'>,
    { by, language }: { readonly by: SignedIn; readonly language: 'en' | 'zh' },
  ): Promise<InvitationLink> {
    const link = await this.signIn.createLink('invitation', id);
    const mail = {
      email: address,
      invitedBy: by.name,
      language,
      sealedLink: this.sealer.seal(link.url, sealedInvitationContext(address)),
      expiresAt: link.endsAt,
    };
    const isMailed = await this.rpc.call(operatorMailsRpc.invite, mail).then(
      ({ isQueued }) => isQueued,
      (error: unknown) => {
        this.#logger.warn(`the invitation of operator ${id} was not mailed: ${messageOf(error)}`);
        return false;
      },
    );
    return { ...link, isMailed };
  }

  async #one(id: string): Promise<OneOperator> {
    const row = await this.operators.get({ id });
    return { operator: presentOperator(row, await this.signIn.locks([row.address])) };
  }
}

/** An owner sees all acts, a developer those on granted applications, every operator their own. */
function visibleTo({ id, isOwner, grants }: SignedIn): AuditFilter['visible'] {
  const developed = grants.filter(({ role }) => role === 'developer').map(({ appId }) => appId);
  if (isOwner) return undefined;
  return { operatorId: id, appIds: developed, everyApplication: developed.includes(ALL_APPLICATIONS) };
}
