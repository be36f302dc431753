import './styles.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { type ReactNode, startTransition, StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient, sessionQuery } from './api/queries';
import { createConsoleRouter } from './router';
import { Gates } from './shell/gates-dialog';
import {
  type Language,
  loadTexts,
  preferredLanguage,
  rememberLanguage,
  tagOf,
  type Texts,
  TextsContext,
} from './texts/texts';
import { cssVariables, theme } from './theme';

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
// The style that locks scrolling behind dialogs is not made by Mantine itself.
setNonce(nonce);

const colorSchemes = localStorageColorSchemeManager({ key: 'gatepost-theme' });
const queries = createQueryClient();
const router = createConsoleRouter(queries);

interface Chosen {
  readonly language: Language;
  readonly texts: Texts;
}

function Console({ first }: { readonly first: Chosen }): ReactNode {
  const [{ language, texts }, setChosen] = useState(first);
  const choose = async (next: Language) => {
    rememberLanguage(next);
    document.documentElement.lang = tagOf(next);
    setChosen({ language: next, texts: await loadTexts(next) });
  };
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={colorSchemes}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <TextsContext value={{ language, texts, choose: (next) => void choose(next) }}>
        <QueryClientProvider client={queries}>
          <Notifications position="bottom-right" limit={4} />
          <Gates />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </TextsContext>
    </MantineProvider>
  );
}

/**
 * Draws the first page when it is whole: its session, its script and its texts load side by side. A transition is drawn in slices, between
 * which a slow processor answers the operator.
 */
async function start(root: Element): Promise<void> {
  const language = preferredLanguage();
  document.documentElement.lang = tagOf(language);
  beginFirstPage();
  const [texts] = await Promise.all([loadTexts(language), router.load()]);
  startTransition(() => {
    createRoot(root).render(
      <StrictMode>
        <Console first={{ language, texts }} />
      </StrictMode>,
    );
  });
}

/** The router asks for the session, then for the script of the page. Where one fails, it asks again and shows the problem. */
function beginFirstPage(): void {
  void queries.query(sessionQuery).catch(() => undefined);
  const [routes] = router.getMatchedRoutes(router.latestLocation.pathname);
  for (const route of routes) router.loadRouteChunk(route)?.catch(() => undefined);
}

const root = document.querySelector('#root');
if (root !== null) void start(root);
