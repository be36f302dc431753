import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { isPageUrl } from './error-page.js';

/** A token and two passwords. */
const MAX_FORM_BYTES = 8_192;

/** Lets pages take no more than their forms can hold. */
export function limitForms(app: NestFastifyApplication): void {
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRoute', (route) => {
      if (isPageUrl(route.url)) route.bodyLimit = MAX_FORM_BYTES;
    });
}
