import { Injectable } from '@nestjs/common';
import type { PlatformKind } from '#contracts';
import { QqVerifier, TaptapVerifier, WeiboVerifier, WeixinVerifier } from './access-token.verifiers.js';
import { AlipayVerifier } from './alipay.verifier.js';
import { AppleVerifier } from './apple.verifier.js';
import { BaiduVerifier, QqappVerifier, TtVerifier, WeappVerifier } from './mini-program.verifiers.js';
import { PlatformHttp } from './platform-http.js';
import type { PlatformVerifier } from './platform.rules.js';

@Injectable()
export class PlatformVerifiers {
  readonly #verifiers: { readonly [Kind in PlatformKind]: PlatformVerifier<Kind> };

  constructor(http: PlatformHttp) {
    this.#verifiers = {
      weixin: new WeixinVerifier(http),
      weibo: new WeiboVerifier(http),
      qq: new QqVerifier(http),
      taptap: new TaptapVerifier(http),
      lc_apple: new AppleVerifier(http),
      lc_weapp: new WeappVerifier(http),
      lc_qqapp: new QqappVerifier(http),
      lc_baidu: new BaiduVerifier(http),
      lc_alipay: new AlipayVerifier(http),
      lc_tt: new TtVerifier(http),
    };
  }

  of<Kind extends PlatformKind>(kind: Kind): PlatformVerifier<Kind> {
    return this.#verifiers[kind];
  }
}
