import { Injectable } from '@nestjs/common';
import type { PlatformKind } from '#contracts';
import { AlipayVerifier } from './alipay.verifier.js';
import { AppleVerifier } from './apple.verifier.js';
import { BaiduVerifier } from './baidu.verifier.js';
import type { PlatformVerifier } from './platform-verifier.types.js';
import { PlatformHttp } from './platform-http.js';
import { QqVerifier } from './qq.verifier.js';
import { QqappVerifier } from './qqapp.verifier.js';
import { TaptapVerifier } from './taptap.verifier.js';
import { TtVerifier } from './tt.verifier.js';
import { WeappVerifier } from './weapp.verifier.js';
import { WeiboVerifier } from './weibo.verifier.js';
import { WeixinVerifier } from './weixin.verifier.js';

/** Who verifies accounts of which kind of platform. A kind without a verifier does not compile. */
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
