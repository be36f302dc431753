import { Injectable } from '@nestjs/common';
import { emailsRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { linkTokenOf } from './link-token.js';

type Nothing = Record<string, never>;

/** Follows mailed links for an application's own pages. */
@Injectable()
export class MailLinksService {
  constructor(private readonly rpc: RpcClient) {}

  /** @throws AppError LINK_EXPIRED */
  async verify(token: string): Promise<Nothing> {
    await this.rpc.call(emailsRpc.verify, { token: linkTokenOf(token) });
    return {};
  }

  /** @throws AppError LINK_EXPIRED, PASSWORD_MISSING, INVALID_PASSWORD */
  async resetPassword(token: string, password: unknown = null): Promise<Nothing> {
    await this.rpc.call(emailsRpc.resetPassword, { token: linkTokenOf(token), password });
    return {};
  }
}
