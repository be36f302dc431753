import type { ComponentProps, ReactNode } from 'react';
import { visible } from './visible.rules';

type BdiProps = Omit<ComponentProps<'bdi'>, 'children'> & { readonly children: string | null | undefined };

/** A text of another origin, such as a name: it turns no text beside it, and hides nothing. */
export function Bdi({ children, ...props }: BdiProps): ReactNode {
  return <bdi {...props}>{visible(children ?? '')}</bdi>;
}
