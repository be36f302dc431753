// PromQL of what is chosen at the top of the dashboard.
export const of = (name, matchers = '') => `${name}{job=~"$job", instance=~"$instance"${matchers && `, ${matchers}`}}`;
export const rate = (name, matchers) => `rate(${of(name, matchers)}[$__rate_interval])`;
export const quantile = (q, name, by = '') =>
  `histogram_quantile(${q}, sum by (le${by && `, ${by}`}) (${rate(`${name}_bucket`)}))`;
