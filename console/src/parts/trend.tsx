/**
 * Trend: the last 24 hours, as a small line beside a number, or as a chart with axes.
 *
 * Does I/O: the chart is drawn on a canvas.
 */
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { MeasurementSeriesView } from '../../../src/web/views.ts'
import { clockText } from '../core/format.ts'
import { now } from '../core/live.ts'

const DAY_MS = 86_400_000
const [WIDTH, HEIGHT] = [160, 36]
/** A line across a longer silence would claim something that nobody measured. */
const GAP_MS = 15 * 60_000
/** `-12.5 °C`, and its tick: what does not fit loses its first digits. */
const AXIS_PX = 72

export function Sparkline({
  series,
  label,
}: {
  readonly series: MeasurementSeriesView | undefined
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
  readonly series: readonly (MeasurementSeriesView | undefined)[]
  readonly names: readonly string[]
  readonly unit: string
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null)
  const drawn = useRef<uPlot | null>(null)
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const style = getComputedStyle(element)
    const [ink, grid] = [style.getPropertyValue('--ink-soft').trim(), style.getPropertyValue('--line').trim()]
    const strokes = ['--accent', '--ink-soft', '--good', '--warn'].map((name) => style.getPropertyValue(name).trim())
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
    const atSeconds = (seconds: number): string => clockText(seconds * 1_000)
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 220,
        cursor: { drag: { x: false, y: false } },
        legend: { live: true },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map(atSeconds) },
          { ...axis, size: AXIS_PX, values: (_, ticks) => ticks.map((tick) => `${tick} ${unit}`) },
        ],
        series: [
          { label: 'Time', value: (_, seconds: number | null) => (seconds === null ? '–' : atSeconds(seconds)) },
          ...names.map((name, index) => ({
            label: name,
            value: (_: uPlot, value: number | null) => (value === null ? '–' : `${value.toFixed(1)} ${unit}`),
            stroke: strokes[index % strokes.length] ?? ink,
            width: 2,
            points: { show: false },
          })),
        ],
      },
      alignedData(series),
      element,
    )
    drawn.current = plot
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 220 }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
    // oxlint-disable-next-line exhaustive-deps -- what is measured is put in below: somebody may be pointing at it
  }, [names.join(), unit])
  // oxlint-disable-next-line exhaustive-deps -- the list is made anew each second, what is in it is not
  useEffect(() => drawn.current?.setData(alignedData(series)), series)
  return <div class="chart" ref={host} role="img" aria-label={`${names.join(', ')} over the last 24 hours`} />
}

function pointsOf(
  series: MeasurementSeriesView | undefined,
): readonly { readonly atMs: number; readonly value: number }[] {
  return (series?.atMs ?? []).flatMap((atMs, index) => {
    const value = series?.values[index]
    return value === null || value === undefined ? [] : [{ atMs, value }]
  })
}

/** uPlot wants one list of times for all lines; series that were sampled together have nearly that. */
function alignedData(series: readonly (MeasurementSeriesView | undefined)[]): uPlot.AlignedData {
  const times = [...new Set(series.flatMap((one) => one?.atMs ?? []))].toSorted((left, right) => left - right)
  const columns = series.map((one) => {
    const byTime = new Map((one?.atMs ?? []).map((atMs, index) => [atMs, one?.values[index] ?? null]))
    return times.map((time) => byTime.get(time) ?? null)
  })
  return [times.map((time) => time / 1_000), ...columns]
}
