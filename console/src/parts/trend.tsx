/**
 * Trend: the last 24 hours, as a small line beside a number, or as a chart with axes.
 *
 * Does I/O: the chart is drawn on a canvas.
 */
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { SeriesView } from '../../../src/web/views.ts'
import { now } from '../core/live.ts'

const DAY_MS = 86_400_000
const [WIDTH, HEIGHT] = [160, 36]
/** A line across a longer silence would claim something that nobody measured. */
const GAP_MS = 15 * 60_000

export function Sparkline({
  series,
  label,
}: {
  readonly series: SeriesView | undefined
  readonly label: string
}): JSX.Element {
  const points = pointsOf(series)
  if (points.length < 2) return <p class="spark aside">The trend begins now.</p>
  const values = points.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const span = Math.max(high - low, 1)
  const endMs = now.peek()
  let path = ''
  let lastMs = -Infinity
  for (const { atMs, value } of points) {
    const x = WIDTH * (1 - (endMs - atMs) / DAY_MS)
    const y = 3 + (HEIGHT - 6) * (1 - (value - low) / span)
    path += `${atMs - lastMs > GAP_MS ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`
    lastMs = atMs
  }
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}, last 24 hours: between ${low.toFixed(1)} and ${high.toFixed(1)}`}
    >
      <path d={path} fill="none" vector-effect="non-scaling-stroke" />
    </svg>
  )
}

export function Chart({
  series,
  names,
  unit,
}: {
  readonly series: readonly (SeriesView | undefined)[]
  readonly names: readonly string[]
  readonly unit: string
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const style = getComputedStyle(element)
    const [ink, grid] = [style.getPropertyValue('--ink-soft').trim(), style.getPropertyValue('--line').trim()]
    const strokes = ['--accent', '--ink-soft', '--good', '--warn'].map((name) => style.getPropertyValue(name).trim())
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 220,
        cursor: { drag: { x: false, y: false } },
        legend: { live: true },
        axes: [axis, { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => `${tick} ${unit}`) }],
        series: [
          {},
          ...names.map((name, index) => ({
            label: name,
            stroke: strokes[index % strokes.length] ?? ink,
            width: 2,
            points: { show: false },
          })),
        ],
      },
      alignedData(series),
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 220 }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [series, names, unit])
  return <div class="chart" ref={host} role="img" aria-label={`${names.join(', ')} over the last 24 hours`} />
}

function pointsOf(series: SeriesView | undefined): readonly { readonly atMs: number; readonly value: number }[] {
  return (series?.atMs ?? []).flatMap((atMs, index) => {
    const value = series?.values[index]
    return value === null || value === undefined ? [] : [{ atMs, value }]
  })
}

/** uPlot wants one list of times for all lines; series that were sampled together have nearly that. */
function alignedData(series: readonly (SeriesView | undefined)[]): uPlot.AlignedData {
  const times = [...new Set(series.flatMap((one) => one?.atMs ?? []))].toSorted((left, right) => left - right)
  const columns = series.map((one) => {
    const byTime = new Map((one?.atMs ?? []).map((atMs, index) => [atMs, one?.values[index] ?? null]))
    return times.map((time) => byTime.get(time) ?? null)
  })
  return [times.map((time) => time / 1_000), ...columns]
}
