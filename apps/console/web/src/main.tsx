import './styles.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { type ReactNode, startTransition, StrictMode, useDeferredValue, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient, sessionQuery } from './api/queries';
import { createConsoleRouter } from './router';
import { Gates } from './shell/gates-dialog';
import { type ChosenLanguage, type Language, loadTexts, preferredLanguage, tagOf, TextsContext } from './texts/texts';
import { cssVariables, preferredTheme, SHOWN_THEME_KEY, theme } from './theme';

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
// The style that locks scrolling behind dialogs is not made by Mantine itself.
setNonce(nonce);

const schemes = { ...localStorageColorSchemeManager({ key: SHOWN_THEME_KEY }), get: preferredTheme };
const queries = createQueryClient();

interface ConsoleProps {
  readonly first: Omit<ChosenLanguage, 'choose'>;
  readonly router: ReturnType<typeof createConsoleRouter>;
}

function Console({ first, router }: ConsoleProps): ReactNode {
  const [{ language, texts }, setChosen] = useState(first);
  const choose = async (next: Language) => {
    document.documentElement.lang = tagOf(next);
    setChosen({ language: next, texts: await loadTexts(next) });
  };
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={schemes}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <TextsContext value={{ language, texts, choose: (next) => void choose(next) }}>
        <QueryClientProvider client={queries}>
          <Notices />
          <Gates />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </TextsContext>
    </MantineProvider>
  );
}

/** The first page has no notice yet: it is drawn without the places of notices. */
function Notices(): ReactNode {
  const isPageDrawn = useDeferredValue(true, false);
  return isPageDrawn && <Notifications position="bottom-right" limit={4} />;
}

/** Draws the first page when it is whole. A transition is drawn in slices, between which a slow processor answers the operator. */
async function start(root: Element): Promise<void> {
  const router = createConsoleRouter(queries);
  beginFirstPage(router);
  const [fallback] = await Promise.all([loadTexts(preferredLanguage()), router.load()]);
  const language = preferredLanguage();
  const texts = await loadTexts(language).catch(() => fallback);
  document.documentElement.lang = tagOf(language);
  startTransition(() => {
    createRoot(root).render(
      <StrictMode>
        <Console first={{ language, texts }} router={router} />
      </StrictMode>,
    );
  });
}

/** The router would ask for the session, and then for the script of the page. Where one fails, it asks again and shows the problem. */
function beginFirstPage(router: ConsoleProps['router']): void {
  void queries.query(sessionQuery).catch(() => undefined);
  const [routes] = router.getMatchedRoutes(router.latestLocation.pathname);
  for (const route of routes) router.loadRouteChunk(route)?.catch(() => undefined);
}

const root = document.querySelector('#root');
// A task of its own: to evaluate the scripts has kept a slow processor busy.
if (root !== null) setTimeout(() => void start(root));
