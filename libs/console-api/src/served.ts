/** Routes of the contract that the server does not handle yet: the services lack the RPCs. The page offers none of them. */
export const NOT_SERVED: ReadonlySet<string> = new Set(['getOverview']);
