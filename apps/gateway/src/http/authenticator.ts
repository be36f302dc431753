import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import { ApplicationDirectory } from '#application-directory';
import type { Caller } from '#contracts';
import { appError } from '#errors';
import { acceptedLanguages } from './accepted-languages.js';
import { judgeCredentials, readCredentials, readSessionToken } from './credentials.js';

interface SignedRequest {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
}

/** Lets in requests that know an application's key. */
@Injectable()
export class Authenticator {
  constructor(private readonly applications: ApplicationDirectory) {}

  /** @throws AppError UNAUTHORIZED where the credentials are missing or wrong */
  async authenticate({ id, headers }: SignedRequest): Promise<Caller> {
    const credentials = readCredentials(headers);
    const application = credentials === undefined ? null : await this.applications.find(credentials.appId);
    if (credentials === undefined || application === null) throw appError('UNAUTHORIZED');
    const signature = judgeCredentials(credentials, application);
    if (signature === undefined) throw appError('UNAUTHORIZED');
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
