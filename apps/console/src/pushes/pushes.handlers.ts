import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { consoleApi, MAX_DEVICES_WITHOUT_PROOF } from '#console-api';
import { installationsRpc, type JsonObject, pushOperationsRpc, pushRpc, type RpcReply } from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { dateOf, isAbsent } from '#objects';
import { OperatorsRepository } from '../operators/operators.repository.js';
import { Handles, type ReplyOf, type RequestOf } from '../routing/console-handler.js';
import { pageOf } from '../routing/list.rules.js';
import { withIds } from './device.rules.js';
import { assertFindsNoAddress, conditionAfter, detailsOf, toListedPush, NEWEST_FIRST, placeOf } from './push.rules.js';

type PreviewedMessage = NonNullable<RpcReply<typeof pushOperationsRpc.preview>['message']>;

/** The server sets the audience of a test push, which is sent at once. */
const NOT_IN_TESTS = ['channels', 'cql', 'push_time', 'where'];

/** Pushes are sent with the rights of the master key. */
@Injectable()
export class PushesHandlers {
  constructor(
    private readonly rpc: RpcClient,
    private readonly operators: OperatorsRepository,
    private readonly clock: Clock,
  ) {}

  @Handles(consoleApi.listPushes)
  async list({ query, caller }: RequestOf<'listPushes'>): Promise<ReplyOf<'listPushes'>> {
    const { status, after, limit } = query;
    const page = { ...NEWEST_FIRST, limit: limit + 1 };
    const where = { ...(status === undefined ? {} : { status }), ...conditionAfter(after) };
    const { results } = await this.rpc.call(pushRpc.findNotifications, { caller, where, ...page });
    return pageOf(results.map(toListedPush), limit, placeOf);
  }

  @Handles(consoleApi.sendPush)
  async send(request: RequestOf<'sendPush'>): Promise<ReplyOf<'sendPush'>> {
    const command = { ...request.params, body: request.body.body as JsonObject };
    const { where, push_time: time } = command.body;
    assertFindsNoAddress(where);
    this.#requireFuture(dateOf(time));
    // At a later time, the push can match other devices.
    if (!isAbsent(time))
      request.requireProof('A scheduled push needs a proof of identity within the last ten minutes.');
    else if (request.operator.provenUntil === undefined) await this.#requireFew(command);
    const sent = await this.rpc.call(pushOperationsRpc.send, command);
    request.act = { target: sent.objectId };
    return sent;
  }

  /** Push-delivery would send the push at once. @throws AppError INCORRECT_TYPE */
  #requireFuture(time: Date | undefined): void {
    if (time === undefined || time > this.clock.now()) return;
    throw appError('INCORRECT_TYPE', { message: `push_time: ${time.toISOString()} is past. Choose a later time.` });
  }

  async #requireFew(push: { readonly appId: string; readonly body: JsonObject }): Promise<void> {
    const { total, isExact } = await this.rpc.call(pushOperationsRpc.countTargets, push);
    if (isExact && total <= MAX_DEVICES_WITHOUT_PROOF) return;
    throw appError('PROOF_REQUIRED', {
      message: `A push to more than ${MAX_DEVICES_WITHOUT_PROOF} devices needs a proof of identity within the last ten minutes.`,
    });
  }

  @Handles(consoleApi.sendTestPush)
  async sendTest(request: RequestOf<'sendTestPush'>): Promise<ReplyOf<'sendTestPush'>> {
    const { caller, operator, params } = request;
    const body = request.body.body as JsonObject;
    const given = NOT_IN_TESTS.find((name) => Object.hasOwn(body, name));
    if (given !== undefined) throw appError('INCORRECT_TYPE', { message: `${given}: a test push has none.` });
    const marked = await this.operators.testDevices(operator.id, params.appId);
    const query = { caller, className: '_Installation', ...withIds(marked) };
    const { results } = marked.length === 0 ? { results: [] } : await this.rpc.call(installationsRpc.find, query);
    // A push leaves out devices with an invalid token.
    const ids = results.flatMap(({ objectId = '', valid }) => (valid === false ? [] : [objectId]));
    if (ids.length === 0)
      throw appError('NO_EFFECT', { message: 'You have no test device in this application. Mark one first.' });
    const where = { objectId: { $in: ids } };
    const sent = await this.rpc.call(pushOperationsRpc.send, { ...params, body: { ...body, where } });
    request.act = { target: sent.objectId };
    return { ...sent, devices: ids.length };
  }

  @Handles(consoleApi.countPushTargets)
  async count({ params, body }: RequestOf<'countPushTargets'>): Promise<ReplyOf<'countPushTargets'>> {
    const command = { ...params, body: body.body as JsonObject };
    assertFindsNoAddress(command.body['where']);
    const { sample, ...counts } = await this.rpc.call(pushOperationsRpc.countTargets, command);
    return { ...counts, sample: sample.map(({ objectId, platform }) => ({ objectId, deviceType: platform })) };
  }

  @Handles(consoleApi.previewPush)
  async preview({ params, body }: RequestOf<'previewPush'>): Promise<ReplyOf<'previewPush'>> {
    const command = { ...params, body: body.body as JsonObject };
    const { message, problem, ...size } = await this.rpc.call(pushOperationsRpc.preview, command);
    return { ...size, bodies: message === null ? {} : bodiesOf(message), problem: problem?.message ?? null };
  }

  @Handles(consoleApi.getPush)
  async get({ params, caller }: RequestOf<'getPush'>): Promise<ReplyOf<'getPush'>> {
    const { appId, pushId: objectId } = params;
    const [status, { notification }] = await Promise.all([
      this.rpc.call(pushOperationsRpc.getStatus, { appId, objectId }),
      this.rpc.call(pushRpc.getNotification, { caller, objectId }),
    ]);
    return { push: detailsOf(notification, status) };
  }

  @Handles(consoleApi.stopPush)
  async stop(request: RequestOf<'stopPush'>): Promise<ReplyOf<'stopPush'>> {
    const { caller, params } = request;
    const { notification } = await this.rpc.call(pushRpc.getNotification, { caller, objectId: params.pushId });
    const { title, status } = toListedPush(notification);
    request.act = { before: { title, status } };
    return this.rpc.call(pushRpc.removeNotification, { caller, objectId: params.pushId });
  }
}

/** `default` is the body of platforms without one of their own, if the push targets any. */
function bodiesOf({ body, bodies, platforms }: PreviewedMessage): Record<string, string> {
  const hasOthers = platforms === null || platforms.some((platform) => !Object.hasOwn(bodies, platform));
  return { ...(hasOthers ? { default: body } : {}), ...bodies };
}
