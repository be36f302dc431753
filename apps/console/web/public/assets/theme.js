// Sets the colour scheme before the first paint. A file of its own: the policy of the page forbids inline scripts.
(() => {
  let wanted = 'auto';
  try {
    wanted = localStorage.getItem('gatepost-theme-shown') ?? localStorage.getItem('gatepost-theme') ?? 'auto';
  } catch {
    // Storage is switched off: the system's scheme applies.
  }
  const isDark = wanted === 'dark' || (wanted === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light');
})();
