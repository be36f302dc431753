import { Injectable } from '@nestjs/common';
import { consoleApi, type Message } from '#console-api';
import { applicationsRpc, deliveriesRpc, MAX_DELIVERY_LIST_LIMIT, type RpcReply, templatesRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { Handles, ifUnchanged, type ReplyOf, type RequestOf, undoOf } from '../routing/console-handler.js';
import { cursorOf, pagesOf, readCursor, UUID } from '../routing/list.rules.js';
import { answerFor, toMessage } from '../users/user.rules.js';

type Template = RpcReply<typeof templatesRpc.get>['template'];
type DeliveryPlace = NonNullable<RpcReply<typeof deliveriesRpc.list>['next']>;

const MAX_BATCHES = 50;

/** Viewers see recipients masked, and cannot search for them. */
@Injectable()
export class MessagesHandlers {
  constructor(private readonly rpc: RpcClient) {}

  @Handles(consoleApi.listMessages)
  async listMessages(request: RequestOf<'listMessages'>): Promise<ReplyOf<'listMessages'>> {
    const { after, ...filters } = request.query;
    if (filters.recipient !== undefined) request.require('users.contact');
    const place = after === undefined ? undefined : readCursor(after, UUID);
    const { deliveries, next, counts } = await this.rpc.call(deliveriesRpc.list, {
      ...request.params,
      ...filters,
      ...(place === undefined ? {} : { after: { createdAt: place.at, id: place.id } }),
    });
    return {
      items: deliveries.map((delivery) => toMessage(delivery, request.may('users.contact'))),
      next: next === null ? null : cursorOf({ at: next.createdAt, id: next.id }),
      counts: counts ?? null,
    };
  }

  @Handles(consoleApi.exportMessages)
  export(request: RequestOf<'exportMessages'>): AsyncIterable<readonly Message[]> {
    const { format: _, ...filters } = request.query;
    if (filters.recipient !== undefined) request.require('users.contact');
    const mayContact = request.may('users.contact');
    const search = { ...request.params, ...filters, limit: MAX_DELIVERY_LIST_LIMIT };
    return pagesOf<Message, DeliveryPlace>(async (after) => {
      const { deliveries, next } = await this.rpc.call(deliveriesRpc.list, { ...search, after });
      return { items: deliveries.map((delivery) => toMessage(delivery, mayContact)), next };
    });
  }

  @Handles(consoleApi.getMessage)
  async getMessage(request: RequestOf<'getMessage'>): Promise<ReplyOf<'getMessage'>> {
    const { appId, messageId: id } = request.params;
    const mayContact = request.may('users.contact');
    const { delivery } = await this.rpc.call(deliveriesRpc.get, { appId, id });
    const history = delivery.attemptLog.map(({ at, outcome, answer }) => ({
      at,
      error: outcome === 'sent' ? null : (answerFor(delivery, answer, mayContact) ?? ''),
    }));
    return { message: toMessage(delivery, mayContact), history };
  }

  @Handles(consoleApi.retryMessage)
  async retryMessage(request: RequestOf<'retryMessage'>): Promise<ReplyOf<'retryMessage'>> {
    const { appId, messageId: id } = request.params;
    const { delivery } = await this.rpc.call(deliveriesRpc.retry, { appId, id });
    return { message: toMessage(delivery, request.may('users.contact')) };
  }

  /** A batch smaller than the one before is the last: the server may refuse messages again meanwhile. */
  @Handles(consoleApi.retryDeadMessages)
  async retryDead({ params }: RequestOf<'retryDeadMessages'>): Promise<ReplyOf<'retryDeadMessages'>> {
    let [total, last] = [0, 1];
    for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
      const { retried } = await this.rpc.call(deliveriesRpc.retryDead, params);
      total += retried;
      if (retried < last) break;
      last = retried;
    }
    return { retried: total };
  }

  @Handles(consoleApi.listTemplates)
  async list({ params }: RequestOf<'listTemplates'>): Promise<ReplyOf<'listTemplates'>> {
    return { items: (await this.rpc.call(templatesRpc.list, params)).templates };
  }

  @Handles(consoleApi.getTemplate)
  get({ params }: RequestOf<'getTemplate'>): Promise<ReplyOf<'getTemplate'>> {
    return this.rpc.call(templatesRpc.get, params);
  }

  @Handles(consoleApi.setTemplate)
  async set(request: RequestOf<'setTemplate'>): Promise<ReplyOf<'setTemplate'>> {
    const { former, ...parts } = request.body;
    const { params } = request;
    const { template } = await this.rpc.call(templatesRpc.get, params);
    const { language, isOwn, subject } = template;
    request.act = { before: { language, isOwn, subject } };
    const { template: written } = await ifUnchanged(this.rpc.call(templatesRpc.set, { ...params, parts, former }));
    const stored = former && Object.assign({}, former, parts);
    const undo = isOwnIn(params.language, template)
      ? undoOf(request, 'setTemplate', former && { ...former, former: stored })
      : undoOf(request, 'resetTemplate', former && { former: stored });
    return { template: written, undo };
  }

  @Handles(consoleApi.resetTemplate)
  async reset(request: RequestOf<'resetTemplate'>): Promise<ReplyOf<'resetTemplate'>> {
    const { params, body } = request;
    const { template } = await this.rpc.call(templatesRpc.get, params);
    request.act = { before: { subject: template.subject, text: template.text } };
    await ifUnchanged(this.rpc.call(templatesRpc.reset, { ...params, ...body }));
    const now = (await this.rpc.call(templatesRpc.get, params).catch(() => undefined))?.template;
    const former = now && !isOwnIn(params.language, now) && { subject: now.subject, html: now.html, text: now.text };
    undoOf(request, 'setTemplate', body.former && former ? { ...body.former, former } : undefined);
    return {};
  }

  @Handles(consoleApi.previewTemplate)
  async preview({ params, body }: RequestOf<'previewTemplate'>): Promise<ReplyOf<'previewTemplate'>> {
    const applicationName = await this.#nameOf(params.appId);
    return this.rpc.call(templatesRpc.preview, { ...params, applicationName, parts: body });
  }

  @Handles(consoleApi.sendTestMail)
  async sendTest(request: RequestOf<'sendTestMail'>): Promise<ReplyOf<'sendTestMail'>> {
    const { params, body, operator } = request;
    const applicationName = await this.#nameOf(params.appId);
    const test = { ...params, applicationName, parts: body, to: operator.address };
    const { id } = await this.rpc.call(templatesRpc.sendTest, test);
    request.act = { target: id };
    return { recipient: operator.address };
  }

  async #nameOf(appId: string): Promise<string> {
    return (await this.rpc.call(applicationsRpc.get, { id: appId })).application.name;
  }
}

function isOwnIn(language: string, { isOwn, language: own }: Template): boolean {
  return isOwn && own.toLowerCase() === language.toLowerCase();
}
