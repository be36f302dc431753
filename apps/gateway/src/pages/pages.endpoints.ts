import { z } from 'zod';
import { type Answer, describeEndpoints } from '../openapi/endpoint.decorator.js';

const query = z.object({ token: z.string().optional().describe('The token of the mailed link.') });

const page = (description: string): Answer => ({ description, mediaType: 'text/html' });
const EXPIRED = page('The link has expired; the page can send a new one, where that is possible.');
/** What any page can be instead of itself: as readable as the page. */
const FAILURES = {
  429: page('There were too many requests from one address.'),
  500: page('The server made a mistake; its log says which.'),
  503: page('The service is away for a moment.'),
};
const FORM_FAILURES = {
  ...FAILURES,
  400: page('The form is malformed.'),
  413: page('The form is too long.'),
};
const RENEWAL = {
  summary: 'Send a new link in place of an expired one',
  description: 'What the button of the page does. The form has the token.',
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
    description: 'Where mailed links lead to. Opening it changes nothing.',
    credentials: 'none',
    query,
    answers: {
      ...FAILURES,
      200: page('A button that verifies the address, or that it is verified already.'),
      410: EXPIRED,
    },
    errors: [],
  },
  verify: {
    summary: 'Verify an address',
    description: 'What the button of the page does. The form has the token.',
    credentials: 'none',
    answers: { ...FORM_FAILURES, 200: page('The address is verified.'), 410: EXPIRED },
    errors: [],
  },
  renew: RENEWAL,
});

export const resetPasswordPageEndpoints = describeEndpoints('Pages', {
  open: {
    summary: 'Open the page that sets a new password',
    description: 'Where mailed links lead to. Opening it changes nothing.',
    credentials: 'none',
    query,
    answers: { ...FAILURES, 200: page('A form for a new password.'), 410: EXPIRED },
    errors: [],
  },
  reset: {
    summary: 'Set a new password',
    description: 'What the button of the page does. The form has the token, and the new password twice.',
    credentials: 'none',
    answers: {
      ...FORM_FAILURES,
      200: page('The password is changed.'),
      400: page('The password is too short, the two are not the same, or the form is malformed.'),
      410: EXPIRED,
    },
    errors: [],
  },
  renew: RENEWAL,
});
