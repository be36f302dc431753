import { createContext, use, useContext } from 'react';
import type { actions } from './actions.en';
import type { en } from './en';

/** All texts of the page in one language. A text that is missing in a language does not compile. */
export type Texts = typeof en;
export type Language = 'en' | 'zh';

const LOADERS: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => (await import('./en')).en,
  zh: async () => (await import('./zh')).zh,
};
const STORED = 'gatepost-language';

export interface ChosenLanguage {
  readonly language: Language;
  readonly texts: Texts;
  readonly choose: (language: Language) => void;
}

export const TextsContext = createContext<ChosenLanguage | undefined>(undefined);

export async function loadTexts(language: Language): Promise<Texts> {
  return LOADERS[language]();
}

/** Whether a language was chosen on this computer. */
export function isLanguageChosen(): boolean {
  return localStorage.getItem(STORED) !== null;
}

/** The language that was chosen on this computer, else that of the browser. */
export function preferredLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === 'en' || stored === 'zh') return stored;
  return navigator.languages.find((each) => /^(?:en|zh)\b/i.test(each))?.startsWith('zh') === true ? 'zh' : 'en';
}

export function rememberLanguage(language: Language): void {
  localStorage.setItem(STORED, language);
}

export function useTexts(): Texts {
  return useLanguage().texts;
}

export function useLanguage(): ChosenLanguage {
  const context = useContext(TextsContext);
  if (context === undefined) throw new Error('texts are loaded before the page is shown');
  return context;
}

type Actions = Partial<typeof actions>;
const ACTION_LOADERS: Readonly<Record<Language, () => Promise<Actions>>> = {
  en: async () => (await import('./actions.en')).actions,
  zh: async () => (await import('./actions.zh')).actions,
};
const loadedActions: Partial<Record<Language, Promise<Actions>>> = {};

/** The texts of the acts in the audit log; none where they cannot be loaded. The component waits for them within a `Suspense`. */
export function useActions(): Actions {
  const { language } = useLanguage();
  return use((loadedActions[language] ??= ACTION_LOADERS[language]().catch(() => ({}))));
}

/** The tag for `Intl` and for the attribute `lang`. */
export function tagOf(language: Language): string {
  return language === 'zh' ? 'zh-CN' : 'en-GB';
}
