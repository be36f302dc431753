import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { clientNetworkOf, StrangerLimit } from '#admission';
import type { Caller } from '#contracts';
import { appError } from '#errors';
import { acceptedLanguages } from './accepted-languages.js';
import { judgeCredentials, readCredentials, readSessionToken } from './credentials.js';

interface SignedRequest {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
}

/** Lets in requests that know an application's key. */
@Injectable()
export class Authenticator {
  constructor(private readonly strangers: StrangerLimit) {}

  /** @throws AppError UNAUTHORIZED where the credentials are missing or wrong, TOO_MANY_REQUESTS where they too often were */
  async authenticate({ id, headers, clientAddress }: SignedRequest): Promise<Caller> {
    const credentials = readCredentials(headers);
    if (credentials === undefined) throw appError('UNAUTHORIZED');
    const network = clientNetworkOf(clientAddress);
    const application = await this.strangers.find(credentials.appId, network);
    if (application === null) throw appError('UNAUTHORIZED');
    const signature = judgeCredentials(credentials, application);
    if (signature === undefined) throw this.strangers.refusal(network);
    const sessionToken = readSessionToken(headers);
    const languages = acceptedLanguages(headers['accept-language']);
    return {
      requestId: id,
      appId: application.id,
      isMaster: signature === 'master',
      ...(sessionToken === undefined ? {} : { sessionToken }),
      ...(languages.length === 0 ? {} : { languages: [...languages] }),
    };
  }
}
