/**
 * Mode: whether this node changes anything at all. The owner sets it in the configuration; no argument does.
 *
 * Pure.
 */
export type Mode = 'full' | 'readonly'

const MODES: readonly Mode[] = ['full', 'readonly']

export function isMode(value: unknown): value is Mode {
  return MODES.some((mode) => mode === value)
}
