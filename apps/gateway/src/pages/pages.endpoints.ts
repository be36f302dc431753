import { z } from 'zod';
import { type Answer, describeEndpoints } from '../openapi/endpoint.decorator.js';

const query = z.object({ token: z.string().optional().describe('The token of the mailed link.') });

const page = (description: string): Answer => ({ description, mediaType: 'text/html' });
const EXPIRED = page('The link has expired. The page offers a new one if that is possible.');
/** The error pages of every page. */
const FAILURES = {
  429: page('Too many requests from one address.'),
  500: page('Internal server error. See the server log for details.'),
  503: page('The service is temporarily unavailable.'),
};
const FORM_FAILURES = {
  ...FAILURES,
  400: page('The form is malformed.'),
  413: page('The form is too long.'),
};
const RENEWAL = {
  summary: 'Send a new link in place of an expired one',
  description: 'The form of the page. It contains the token.',
  credentials: 'none',
  answers: {
    ...FORM_FAILURES,
    200: page('A new mail is on its way.'),
    410: page('The link cannot be renewed.'),
    429: page('Too many mails to this address, or too many requests.'),
  },
  errors: [],
} as const;

export const verifyEmailPageEndpoints = describeEndpoints('Pages', {
  open: {
    summary: 'Open the page that verifies an address',
    description: 'The target of mailed links. To open it changes nothing.',
    credentials: 'none',
    query,
    answers: {
      ...FAILURES,
      200: page('A button that verifies the address.'),
      410: EXPIRED,
    },
    errors: [],
  },
  verify: {
    summary: 'Verify an address',
    description: 'The form of the page. It contains the token.',
    credentials: 'none',
    answers: { ...FORM_FAILURES, 200: page('The address is verified.'), 410: EXPIRED },
    errors: [],
  },
  renew: RENEWAL,
});

export const resetPasswordPageEndpoints = describeEndpoints('Pages', {
  open: {
    summary: 'Open the page that sets a new password',
    description: 'The target of mailed links. To open it changes nothing.',
    credentials: 'none',
    query,
    answers: { ...FAILURES, 200: page('A form for a new password.'), 410: EXPIRED },
    errors: [],
  },
  reset: {
    summary: 'Set a new password',
    description: 'The form of the page. It contains the token, and the new password twice.',
    credentials: 'none',
    answers: {
      ...FORM_FAILURES,
      200: page('The password is changed.'),
      400: page('The password is too short, the two passwords differ, or the form is malformed.'),
      410: EXPIRED,
    },
    errors: [],
  },
  renew: RENEWAL,
});
