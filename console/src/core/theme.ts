/**
 * Theme: light or dark, as the system has it until somebody says otherwise.
 *
 * Does I/O: it reads and writes the choice.
 */
import { effect, signal } from '@preact/signals'

export type Theme = 'light' | 'dark'

const NAME = 'hearthbus-theme'
const prefersDark = matchMedia('(prefers-color-scheme: dark)')

export const theme = signal<Theme>(stored() ?? (prefersDark.matches ? 'dark' : 'light'))

export function setTheme(next: Theme): void {
  localStorage.setItem(NAME, next)
  theme.value = next
}

function stored(): Theme | undefined {
  const value = localStorage.getItem(NAME)
  return value === 'light' || value === 'dark' ? value : undefined
}

prefersDark.addEventListener('change', ({ matches }) => {
  if (stored() === undefined) theme.value = matches ? 'dark' : 'light'
})

effect(() => {
  document.documentElement.dataset['theme'] = theme.value
})
