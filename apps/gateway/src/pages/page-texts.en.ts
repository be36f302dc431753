/** The texts of the pages of mailed links. `{name}` is the name of the application, in `canBeRenewed` the address. */
export const ENGLISH = {
  /** The language itself (BCP 47). */
  language: 'en',
  /** Replaces the name of an unknown application. */
  someApplication: 'the app',
  address: 'Email address',
  account: 'Account',

  verify: {
    title: 'Verify your address',
    lead: 'Press the button to confirm that this address is yours.',
    action: 'Verify this address',
    note: 'You do not know this account? Just close this page: nothing will change.',
  },
  verified: {
    title: 'Your address is verified',
    lead: 'Thank you. You can close this page and go back to {name}.',
  },
  alreadyVerified: {
    title: 'Already verified',
    lead: 'This address has been verified before. There is nothing left to do.',
  },

  reset: {
    title: 'Choose a new password',
    lead: 'From then on you log in with it.',
    password: 'New password',
    rule: 'At least 8 characters. A few words in a row are easy to remember and hard to guess.',
    repeat: 'New password, once more',
    action: 'Set this password',
    note: 'Wherever you are logged in now, you will have to log in again.',
    refusal: 'The password was not changed. Please look at what is marked below, and enter it again.',
    mistakes: {
      missing: 'Enter a password.',
      tooShort: 'Use at least 8 characters.',
      refused: 'This one cannot be used. Please choose another.',
    },
    different: 'This is not the same as the password above.',
  },
  wasReset: {
    title: 'Your password is changed',
    lead: 'You can close this page and log in to {name} with the new one.',
  },

  expired: {
    verifyEmail: {
      title: 'This link has expired',
      lead: 'A link to verify an address works for some days only, and only as long as the account keeps that address.',
    },
    resetPassword: {
      title: 'This link has expired',
      lead: 'A link to choose a new password works once, and for a short time only. If you have just entered one here, try to log in with it: it may be set already.',
    },
    canBeRenewed: 'We can send a new one to {name}.',
    action: 'Send a new link',
    cannotBeRenewed: 'Please ask for a new one in the app.',
  },
  renewed: {
    title: 'A new link is on its way',
    lead: 'Please check your inbox in a minute or two, and the spam folder as well. You can close this page.',
  },
  tooManyMails: {
    title: 'Please wait a little',
    lead: 'We have already sent mails to this address. Please check your inbox and the spam folder; if nothing is there, try again later.',
  },

  failures: {
    malformed: {
      title: 'This did not work',
      lead: 'The request could not be understood, and nothing was changed. Please open the link in your mail again.',
    },
    notFound: { title: 'There is no such page', lead: 'Please open the link in your mail again.' },
    tooManyRequests: {
      title: 'Please wait a little',
      lead: 'There were too many requests from your network. Please try again in a while.',
    },
    unavailable: {
      title: 'We will be back in a moment',
      lead: 'The service cannot be reached right now. Please open the link in your mail again in a minute.',
    },
    internal: {
      title: 'Something went wrong',
      lead: 'The problem is on our side. Please open the link in your mail again in a while.',
    },
  },
};

export type PageTexts = typeof ENGLISH;

export type Message = PageTexts['verified'];

export type PasswordMistake = keyof PageTexts['reset']['mistakes'];
