import { Controller, Get, HttpCode, HttpStatus, Inject, Param, Post, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  type Caller,
  DEFAULT_CHANGE_CODE_TTL_MINUTES,
  DEFAULT_CODE_TTL_MINUTES,
  type JsonObject,
  MAX_CODE_TTL_MINUTES,
  MAX_MESSAGE_LABEL_LENGTH,
  MAX_TEMPLATE_NAME_LENGTH,
  MAX_TEMPLATE_VARIABLES,
  phoneNumbersRpc,
} from '#contracts';
import { RpcClient } from '#messaging';
import { phoneNumberSchema as mobilePhoneNumber, passwordSchema as password } from '#objects';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { JsonBody, QueryParams, RequestCaller } from '../http/request.decorators.js';
import { timestamp } from '../objects/object.endpoints.js';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/request-limits.js';
import { LOGIN_ERRORS, ownUser, USER_FIELD_ERRORS, writableFields } from './users.endpoints.js';

const number = z.looseObject({ mobilePhoneNumber });
const numberless = z.looseObject({
  mobilePhoneNumber: mobilePhoneNumber
    .optional()
    .describe('The default is the number of the user of the session, or else the number to which the code was sent.'),
});
const code = z
  .string()
  .regex(/^\d{6}$/)
  .describe('The six digits of the message. Valid once, until it expires or five wrong codes were sent.');
const ttl = (byDefault: number) =>
  z
    .int()
    .min(1)
    .optional()
    .describe(`The validity of the code in minutes, at most ${MAX_CODE_TTL_MINUTES}. The default is ${byDefault}.`);
const label = (maxLength: number) => z.string().min(1).max(maxLength).optional();

const sent = { 200: { description: 'The code is on its way.', body: z.object({}) } };
const done = { 200: { description: 'Done.', body: z.object({}) } };
const location = { Location: 'The absolute URL of the user.' };

const REQUEST_ERRORS = ['PHONE_MISSING', 'INVALID_PHONE', 'SMS_TOO_FAST', 'SMS_TOO_FREQUENT'] as const;

const VERIFIED = {
  credentials: 'application',
  answers: {
    200: {
      description: 'The user with the number.',
      body: z.object({ updatedAt: timestamp, objectId: z.string() }),
    },
  },
  errors: ['INVALID_PHONE', 'PHONE_NOT_FOUND', 'INVALID_SMS_CODE'],
} as const;

const phoneNumbersEndpoints = describeEndpoints('Phone numbers', {
  requestCode: {
    summary: 'Send a code to any number',
    description: `For \`verifySmsCode\` and \`usersByMobilePhone\`. Other members are variables of the template, ${MAX_TEMPLATE_VARIABLES} at most.`,
    credentials: 'application',
    body: number.extend({
      smsType: z.enum(['sms', 'voice']).optional(),
      ttl: ttl(DEFAULT_CODE_TTL_MINUTES),
      name: label(MAX_MESSAGE_LABEL_LENGTH).describe(
        'The name of the application in the message. The default is its registered name.',
      ),
      op: label(MAX_MESSAGE_LABEL_LENGTH).describe('The purpose of the code.'),
      template: label(MAX_TEMPLATE_NAME_LENGTH),
      sign: label(MAX_TEMPLATE_NAME_LENGTH),
    }),
    answers: sent,
    errors: [...REQUEST_ERRORS, 'INCORRECT_TYPE'],
  },
  verifyCode: {
    summary: 'Verify a code',
    description: 'The default number is that of the user of the session. No user is changed.',
    credentials: 'application',
    body: number.partial(),
    answers: done,
    errors: ['PHONE_MISSING', 'INVALID_PHONE', 'INVALID_SMS_CODE'],
  },
  enter: {
    summary: 'Sign up or log in with a number',
    description:
      'With a code of `requestSmsCode`. The fields apply only to a new user. The default username is the number, or a random one if another user has the number as its username.',
    credentials: 'application',
    body: writableFields.extend({ mobilePhoneNumber, smsCode: code }),
    answers: {
      200: { description: 'The user with the number, with its session token.', body: ownUser, headers: location },
      201: { description: 'The new user, with its session token.', body: ownUser, headers: location },
    },
    errors: [
      ...USER_FIELD_ERRORS,
      'INVALID_IDENTITY',
      'PHONE_MISSING',
      ...LOGIN_ERRORS,
      'INVALID_SMS_CODE',
      'FORBIDDEN',
    ],
  },
  requestLoginCode: {
    summary: 'Send a code to log in with',
    description: 'For `POST /1.1/login`. The number must be verified.',
    credentials: 'application',
    body: number,
    answers: sent,
    errors: [...REQUEST_ERRORS, 'PHONE_NOT_FOUND', 'PHONE_UNVERIFIED'],
  },
  requestVerification: {
    summary: 'Send a code to verify a number with',
    description: 'If the number is already verified, no code is sent.',
    credentials: 'application',
    body: number.partial(),
    answers: sent,
    errors: [...REQUEST_ERRORS, 'PHONE_NOT_FOUND'],
  },
  verify: { summary: 'Verify a number', body: numberless, ...VERIFIED },
  verifyByQuery: { summary: 'Verify a number by a query, as old SDKs do', query: numberless, ...VERIFIED },
  requestPasswordReset: {
    summary: 'Send a code to reset a password with',
    description: 'The number must be verified.',
    credentials: 'application',
    body: number,
    answers: sent,
    errors: [...REQUEST_ERRORS, 'PHONE_NOT_FOUND', 'PHONE_UNVERIFIED'],
  },
  resetPassword: {
    summary: 'Reset a password',
    description: 'Replaces the session token, and ends a lockout of the user.',
    credentials: 'application',
    body: numberless.extend({ password }),
    answers: done,
    errors: [
      'INVALID_PHONE',
      'PASSWORD_MISSING',
      'INVALID_PASSWORD',
      'PHONE_NOT_FOUND',
      'PHONE_UNVERIFIED',
      'INVALID_SMS_CODE',
    ],
  },
  requestChange: {
    summary: 'Send a code to a new number of the user',
    credentials: 'session',
    body: number.extend({ ttl: ttl(DEFAULT_CHANGE_CODE_TTL_MINUTES) }),
    answers: sent,
    errors: [...REQUEST_ERRORS, 'INCORRECT_TYPE', 'SESSION_REQUIRED', 'PHONE_TAKEN', 'FORBIDDEN'],
  },
  change: {
    summary: 'Change the number of the user',
    description: 'The new number is verified.',
    credentials: 'session',
    body: number.extend({ code }),
    answers: done,
    errors: ['PHONE_MISSING', 'INVALID_PHONE', 'SESSION_REQUIRED', 'PHONE_TAKEN', 'INVALID_SMS_CODE', 'FORBIDDEN'],
  },
});

@Controller('1.1')
export class PhoneNumbersController {
  constructor(
    private readonly rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post('requestSmsCode')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestCode)
  requestCode(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestCode, { caller, body });
  }

  @Post('verifySmsCode/:code')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.verifyCode)
  verifyCode(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.verifyCode, { caller, code, body });
  }

  @Post('usersByMobilePhone')
  @RateLimited('logins', 'signUps')
  @Endpoint(phoneNumbersEndpoints.enter)
  async enter(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    const { user, isNew } = await this.rpc.call(phoneNumbersRpc.signUpOrLogIn, { caller, body });
    void reply.code(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    void reply.header('location', `${this.config.baseUrl}/1.1/users/${user.objectId}`);
    return user;
  }

  @Post('requestLoginSmsCode')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestLoginCode)
  requestLoginCode(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestLoginCode, { caller, body });
  }

  @Post('requestMobilePhoneVerify')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestVerification)
  requestVerification(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestVerification, { caller, body });
  }

  /** The Python SDK uses the misspelt second path. */
  @Post(['verifyMobilePhone/:code', 'verfyMobilePhone/:code'])
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.verify)
  async verify(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    const { result } = await this.rpc.call(phoneNumbersRpc.verify, { caller, code, body });
    return result;
  }

  /** Old versions of the SDK for Swift use GET. */
  @Get('verifyMobilePhone/:code')
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.verifyByQuery)
  verifyByQuery(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @QueryParams() query: JsonObject,
  ): Promise<JsonObject> {
    return this.verify(caller, code, query);
  }

  @Post('requestPasswordResetBySmsCode')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestPasswordReset)
  requestPasswordReset(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestPasswordReset, { caller, body });
  }

  @Put('resetPasswordBySmsCode/:code')
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.resetPassword)
  resetPassword(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.resetPassword, { caller, code, body });
  }

  /** The Go SDK sends POST instead of PUT. */
  @Post('resetPasswordBySmsCode/:code')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.resetPassword)
  resetPasswordByPost(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.resetPassword, { caller, code, body });
  }

  @Post('requestChangePhoneNumber')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestChange)
  requestChange(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestChange, { caller, body });
  }

  @Post('changePhoneNumber')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.change)
  change(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.change, { caller, body });
  }
}
