import { Injectable } from '@nestjs/common';
import { consoleApi } from '#console-api';
import {
  type CredentialField,
  credentialFieldsOf,
  identitiesRpc,
  PLATFORM_KINDS,
  platformFields,
  platformsRpc,
  TEXT_MESSAGE_PROVIDER_KINDS,
  TEXT_MESSAGE_PROVIDERS,
  textMessageProvidersRpc,
  vendorFields,
  VENDORS,
  vendorsRpc,
} from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { Handles, type ReplyOf, type RequestOf } from '../routing/console-handler.js';

/** No reply holds the value of a secret field. */
@Injectable()
export class CredentialsHandlers {
  constructor(private readonly rpc: RpcClient) {}

  @Handles(consoleApi.listPlatforms)
  async listPlatforms({ params }: RequestOf<'listPlatforms'>): Promise<ReplyOf<'listPlatforms'>> {
    const [{ platforms: items }, { platforms: accounts }] = await Promise.all([
      this.rpc.call(platformsRpc.list, params),
      this.rpc.call(identitiesRpc.count, params),
    ]);
    return {
      items,
      accounts,
      kinds: PLATFORM_KINDS.map((kind) => ({ kind, fields: toReplyFields(platformFields(kind)) })),
    };
  }

  @Handles(consoleApi.setPlatform)
  async setPlatform({ params, body }: RequestOf<'setPlatform'>): Promise<ReplyOf<'setPlatform'>> {
    const kind = oneOf(PLATFORM_KINDS, body.kind);
    const { credentials } = await this.rpc.call(platformsRpc.set, { ...params, kind, fields: body.fields });
    return { platform: credentials };
  }

  @Handles(consoleApi.removePlatform)
  async removePlatform({ params }: RequestOf<'removePlatform'>): Promise<ReplyOf<'removePlatform'>> {
    return this.rpc.call(platformsRpc.remove, params);
  }

  @Handles(consoleApi.getTextMessageProvider)
  async getProvider({ params }: RequestOf<'getTextMessageProvider'>): Promise<ReplyOf<'getTextMessageProvider'>> {
    const { provider } = await this.rpc.call(textMessageProvidersRpc.get, params);
    const kinds = TEXT_MESSAGE_PROVIDER_KINDS.map((kind) => ({
      kind,
      fields: toReplyFields(credentialFieldsOf(TEXT_MESSAGE_PROVIDERS[kind])),
    }));
    return { provider, kinds };
  }

  @Handles(consoleApi.setTextMessageProvider)
  async setProvider({ params, body }: RequestOf<'setTextMessageProvider'>): Promise<ReplyOf<'setTextMessageProvider'>> {
    const kind = oneOf(TEXT_MESSAGE_PROVIDER_KINDS, body.kind);
    return this.rpc.call(textMessageProvidersRpc.set, { ...params, kind, fields: body.fields });
  }

  @Handles(consoleApi.removeTextMessageProvider)
  async removeProvider({
    params,
  }: RequestOf<'removeTextMessageProvider'>): Promise<ReplyOf<'removeTextMessageProvider'>> {
    return this.rpc.call(textMessageProvidersRpc.remove, params);
  }

  @Handles(consoleApi.listVendors)
  async listVendors({ params }: RequestOf<'listVendors'>): Promise<ReplyOf<'listVendors'>> {
    const [{ vendors: items }, { lanes, senders }] = await Promise.all([
      this.rpc.call(vendorsRpc.list, params),
      this.rpc.call(vendorsRpc.listLanes, params),
    ]);
    return {
      items,
      lanes,
      senders,
      kinds: VENDORS.map((kind) => ({ kind, fields: toReplyFields(vendorFields(kind)) })),
    };
  }

  @Handles(consoleApi.setVendor)
  async setVendor(request: RequestOf<'setVendor'>): Promise<ReplyOf<'setVendor'>> {
    const { vendor, profile, fields } = request.body;
    request.act = { target: `${vendor} ${profile}` };
    const change = { ...request.params, vendor: oneOf(VENDORS, vendor), profile, fields };
    const { credentials, problem } = await this.rpc.call(vendorsRpc.set, change);
    return { vendor: credentials, problem: problem ?? null };
  }

  @Handles(consoleApi.checkVendor)
  async checkVendor({ params, body }: RequestOf<'checkVendor'>): Promise<ReplyOf<'checkVendor'>> {
    return this.rpc.call(vendorsRpc.check, { ...params, ...body, vendor: oneOf(VENDORS, body.vendor) });
  }

  @Handles(consoleApi.changeVendorLanes)
  async changeLanes(request: RequestOf<'changeVendorLanes'>): Promise<ReplyOf<'changeVendorLanes'>> {
    const { params, body } = request;
    request.act = { target: `${body.vendor} ${body.profile}` };
    return this.rpc.call(vendorsRpc.change, { ...params, ...body, vendor: oneOf(VENDORS, body.vendor) });
  }

  @Handles(consoleApi.removeVendor)
  async removeVendor(request: RequestOf<'removeVendor'>): Promise<ReplyOf<'removeVendor'>> {
    const { params, body } = request;
    request.act = { target: `${body.vendor} ${body.profile}` };
    return this.rpc.call(vendorsRpc.remove, { ...params, ...body, vendor: oneOf(VENDORS, body.vendor) });
  }
}

function oneOf<Kind extends string>(kinds: readonly Kind[], given: string): Kind {
  const kind = kinds.find((each) => each === given);
  if (kind === undefined) throw appError('INCORRECT_TYPE', { message: `must be one of ${kinds.join(', ')}` });
  return kind;
}

function toReplyFields(fields: readonly CredentialField[]) {
  return fields.map(({ description, ...field }) => ({ ...field, description: description ?? null }));
}
