import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { PhoneLoginService } from '../phone-numbers/phone-login.service.js';
import { isLoginByCode } from './login.rules.js';
import { LoginService } from './login.service.js';

/** POST /1.1/login, by a password or by a code. */
@Injectable()
export class LoginMethodsService {
  constructor(
    private readonly byPassword: LoginService,
    private readonly byCode: PhoneLoginService,
  ) {}

  logIn(caller: Caller, body: JsonObject): Promise<VisibleUser> {
    return isLoginByCode(body) ? this.byCode.logIn(caller, body) : this.byPassword.logIn(caller, body);
  }
}
