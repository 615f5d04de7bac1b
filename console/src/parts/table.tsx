/**
 * Table: rows by the thousand, of which only those in sight are in the page. Screen readers hear how many there are.
 *
 * Does I/O: it measures what is in sight.
 */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Column<Row> {
  readonly name: string
  /** A CSS grid track, such as `8rem` or `minmax(0, 2fr)`. */
  readonly width: string
  readonly cell: (row: Row) => ComponentChildren
  /** Left out where there is little room. */
  readonly minor?: boolean
}

export interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** What happens when somebody opens a row; Enter does it, too. */
  readonly onOpen?: (row: Row) => void
  readonly empty?: ComponentChildren
  readonly height?: number
}

const ROW_PX = 44
const BEYOND = 6
const NARROW_PX = 640

export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { label, rows, rowKey, onOpen, empty, height = 520 } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  // Right from the first frame on a phone; the observer knows better wherever the table is narrower than the window.
  const [narrow, setNarrow] = useState(() => innerWidth < NARROW_PX)
  const [active, setActive] = useState(0)
  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    const observer = new ResizeObserver(() => setNarrow(element.clientWidth < NARROW_PX))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const columns = narrow ? props.columns.filter(({ minor }) => minor !== true) : props.columns
  const tracks = columns.map(({ width }) => width).join(' ')
  const shownHeight = Math.min(height, (rows.length + 1) * ROW_PX + 2)
  const first = Math.max(0, Math.floor(top / ROW_PX) - BEYOND)
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + BEYOND)
  const current = Math.min(active, rows.length - 1)

  const move = (to: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, to))
    setActive(next)
    const element = scroller.current
    if (element === null) return
    const [above, below] = [next * ROW_PX, (next + 2) * ROW_PX]
    if (above < element.scrollTop) element.scrollTop = above
    else if (below > element.scrollTop + element.clientHeight) element.scrollTop = below - element.clientHeight
    requestAnimationFrame(() => element.querySelector<HTMLElement>(`[aria-rowindex="${next + 2}"]`)?.focus())
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(height / ROW_PX) - 2)
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: rows.length - 1,
    }
    const to = steps[event.key]
    const isOnRow = event.target instanceof HTMLElement && event.target.getAttribute('role') === 'row'
    if (!isOnRow) return
    if (to !== undefined) {
      event.preventDefault()
      move(to)
      return
    }
    const row = rows[current]
    if ((event.key === 'Enter' || event.key === ' ') && row !== undefined && onOpen !== undefined) {
      event.preventDefault()
      onOpen(row)
    }
  }

  if (rows.length === 0) return <>{empty ?? <p class="aside">Nothing here.</p>}</>
  return (
    <div
      class="table"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      ref={scroller}
      style={{ height: `${shownHeight}px` }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div class="table-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
        {columns.map(({ name }) => (
          <div role="columnheader" key={name}>
            {name}
          </div>
        ))}
      </div>
      <div class="table-body" role="rowgroup" style={{ height: `${rows.length * ROW_PX}px` }}>
        {rows.slice(first, last).map((row, offset) => {
          const index = first + offset
          return (
            <div
              key={rowKey(row)}
              role="row"
              aria-rowindex={index + 2}
              tabIndex={index === current ? 0 : -1}
              class={onOpen === undefined ? 'row' : 'row opens'}
              style={{ gridTemplateColumns: tracks, transform: `translateY(${index * ROW_PX}px)` }}
              onClick={(event) => {
                setActive(index)
                if (!isControl(event.target)) onOpen?.(row)
              }}
            >
              {columns.map(({ name, cell }) => (
                <div role="cell" key={name}>
                  {cell(row)}
                </div>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('button, a, input, select') !== null
}
