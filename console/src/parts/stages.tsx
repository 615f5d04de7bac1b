/** Stages: where a call's time went, as a bar. */
import type { JSX } from 'preact'
import type { CallTraceView } from '../../../src/web/views.ts'
import { tookText } from '../core/format.ts'

/** In the order in which a call passes them; the provider's own time is part of the dispatch. */
export const STAGES = ['lock', 'validate', 'audit enter', 'dispatch', 'provider', 'audit exit'] as const

export function StageBar({ trace }: { readonly trace: Pick<CallTraceView, 'ms' | 'stages'> }): JSX.Element {
  const provider = trace.stages['provider'] ?? 0
  const spent = STAGES.map((name) => {
    const ms = trace.stages[name] ?? 0
    return name === 'dispatch' ? Math.max(0, ms - provider) : ms
  })
  const total = Math.max(trace.ms, ...spent, 0.001)
  const label = STAGES.filter((name) => trace.stages[name] !== undefined)
    .map((name) => `${name} ${tookText(trace.stages[name] ?? 0)}`)
    .join(', ')
  let x = 0
  return (
    <svg class="stages" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      {STAGES.map((name, index) => {
        const width = (100 * (spent[index] ?? 0)) / total
        const from = Math.min(x, 100)
        x += width
        return width < 0.2 ? null : (
          <rect key={name} class={`stage-${index}`} x={from} y={0} width={Math.min(width, 100 - from)} height={8} />
        )
      })}
    </svg>
  )
}
