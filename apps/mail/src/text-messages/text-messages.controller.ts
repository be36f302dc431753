import { Controller } from '@nestjs/common';
import {
  type CodePurpose,
  events,
  type RpcData,
  type RpcReply,
  sealedCodeContext,
  textMessageProvidersRpc,
  type TextMessageRequest,
} from '#contracts';
import { Inbox } from '#database';
import { EventHandler, type ReceivedEvent, RpcHandler } from '#messaging';
import { Sealer } from '#security';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { plainName } from '../templates/template.rules.js';
import { TextMessageProvidersService } from './text-message-providers.service.js';

type Rpc = typeof textMessageProvidersRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

const MINUTE_MS = 60_000;

@Controller()
export class TextMessagesController {
  constructor(
    private readonly inbox: Inbox,
    private readonly deliveries: DeliveriesService,
    private readonly sealer: Sealer,
  ) {}

  /** The id of the event becomes the id of the message. @throws Error if the code was sealed with another secret */
  @EventHandler(events.smsRequested)
  async request({ id, payload: request }: ReceivedEvent<typeof events.smsRequested>): Promise<void> {
    const { appId, mobilePhoneNumber: recipient, purpose, smsType, userId = null } = request;
    const expiresAt = new Date(request.expiresAt);
    const code = this.sealer.open(request.sealedCode, sealedCodeContext(request));
    const { template = null, sign = null, variables = null } = request;
    const given = Object.fromEntries(
      Object.entries({ template, sign, variables }).filter(([, value]) => value !== null),
    );
    await this.inbox.once(id, (tx) =>
      this.deliveries.addCode(tx, {
        id,
        appId,
        channel: 'sms',
        kind: purpose,
        recipient,
        userId,
        asOf: new Date(expiresAt.getTime() - request.ttlMinutes * MINUTE_MS),
        content: { text: textOf(request, code), code, smsType, ...given },
        expiresAt,
      }),
    );
  }
}

@Controller()
export class TextMessageProvidersController {
  constructor(private readonly providers: TextMessageProvidersService) {}

  @RpcHandler(textMessageProvidersRpc.get)
  async get({ appId }: Data<'get'>): Reply<'get'> {
    return { provider: await this.providers.get(appId) };
  }

  @RpcHandler(textMessageProvidersRpc.set)
  async set(wanted: Data<'set'>): Reply<'set'> {
    return { provider: await this.providers.set(wanted) };
  }

  @RpcHandler(textMessageProvidersRpc.remove)
  async remove({ appId }: Data<'remove'>): Reply<'remove'> {
    await this.providers.remove(appId);
    return {};
  }
}

const CODE_NAMES: Readonly<Record<CodePurpose, string>> = {
  generic: 'verification code',
  login: 'login code',
  verify: 'code to verify this phone number',
  reset: 'code to reset your password',
  change: 'code to use this phone number',
};

/** The default text. Any client with the application key chooses `name` and `op`: neither may lead the reader to another page. */
export function textOf(
  { name, op, purpose, ttlMinutes }: Pick<TextMessageRequest, 'name' | 'op' | 'purpose' | 'ttlMinutes'>,
  code: string,
): string {
  const use = op === undefined ? '' : ` for ${plainName(op)}`;
  const minutes = ttlMinutes === 1 ? 'minute' : 'minutes';
  return `[${plainName(name)}] ${code} is your ${CODE_NAMES[purpose]}${use}. It is valid for ${ttlMinutes} ${minutes}.`;
}
