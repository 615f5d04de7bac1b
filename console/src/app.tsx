/**
 * App: the frame around every page: where one is, whether what is shown is current, and the emergency stop.
 *
 * Pure, but for the stop.
 */
import { effect } from '@preact/signals'
import type { ComponentType, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { connection, lostAtMs, me, openApprovals, signOut, status } from './core/live.ts'
import { setSound, soundOn } from './core/notice.ts'
import { href, route } from './core/route.ts'
import { setTheme, theme } from './core/theme.ts'
import { ApprovalsPage } from './pages/approvals.tsx'
import { BusPage } from './pages/bus.tsx'
import { CallPage } from './pages/call.tsx'
import { CallsPage } from './pages/calls.tsx'
import { DevicesPage } from './pages/devices.tsx'
import { EbusPage } from './pages/ebus.tsx'
import { HomeseerPage } from './pages/homeseer.tsx'
import { HousePage } from './pages/house.tsx'
import { LedgerPage } from './pages/ledger.tsx'
import { SettingsPage } from './pages/settings.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { ToolsPage } from './pages/tools.tsx'
import { WorkPage } from './pages/work.tsx'
import { Page } from './parts/frame.tsx'
import { Empty } from './parts/states.tsx'
import { StopButton } from './parts/stop.tsx'
import { Age, Words } from './parts/words.tsx'

interface Place {
  readonly id: string
  readonly title: string
  readonly page: ComponentType
}

const PLACES: readonly Place[] = [
  { id: 'house', title: 'House', page: HousePage },
  { id: 'approvals', title: 'Approvals', page: ApprovalsPage },
  { id: 'calls', title: 'Calls', page: CallsPage },
  { id: 'bus', title: 'Bus', page: BusPage },
  { id: 'ledger', title: 'Ledger', page: LedgerPage },
  { id: 'ebus', title: 'eBUS', page: EbusPage },
  { id: 'homeseer', title: 'HomeSeer', page: HomeseerPage },
  { id: 'devices', title: 'Devices', page: DevicesPage },
  { id: 'work', title: 'Work', page: WorkPage },
  { id: 'tools', title: 'Tools', page: ToolsPage },
  { id: 'settings', title: 'Settings', page: SettingsPage },
]

// In our own words only: what strangers call their things has no business in the title of a window.
effect(() => {
  const waiting = openApprovals.value.length
  const place = me.value ? PLACES.find(({ id }) => id === route.value.page)?.title : 'Sign in'
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${place === undefined ? '' : `${place} – `}Hearthbus`
})

export function App(): JSX.Element {
  const here = route.value
  if (here.page === 'sign-in' || me.value === null) return <SignInPage />
  if (me.value === undefined) {
    return (
      <p class="boot" role="status">
        {connection.value === 'lost' ? 'The gateway does not answer. Trying again …' : 'Hearthbus'}
      </p>
    )
  }
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the page
      </a>
      <Side page={here.page} />
      <div class="content">
        <Banner />
        <main id="main" tabIndex={-1}>
          <CurrentPage key={here.page + (here.page === 'calls' ? here.rest : '')} page={here.page} rest={here.rest} />
        </main>
      </div>
      <p class="hidden-text" role="status" aria-live="assertive">
        {openApprovals.value.length === 0 ? '' : `${openApprovals.value.length} waiting for approval`}
      </p>
    </div>
  )
}

function CurrentPage({ page, rest }: { readonly page: string; readonly rest: string }): JSX.Element {
  const place = PLACES.find(({ id }) => id === page)
  useEffect(() => {
    // A new page begins at its heading, for eyes and for screen readers.
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [])
  if (place === undefined) {
    return (
      <Page title="Nothing here">
        <Empty title="There is no such page.">
          <p>
            <a href={href('house')}>To the house</a>
          </p>
        </Empty>
      </Page>
    )
  }
  if (page === 'calls' && rest !== '') return <CallPage traceId={rest} />
  return <place.page />
}

function Side({ page }: { readonly page: string }): JSX.Element {
  const [open, setOpen] = useState(false)
  const menu = useRef<HTMLButtonElement>(null)
  const waiting = openApprovals.value.length
  // Also when one got there by other ways than through it.
  useEffect(() => setOpen(false), [page])
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !open) return
    setOpen(false)
    menu.current?.focus()
  }
  return (
    <div class={open ? 'side open' : 'side'} onKeyDown={onKeyDown}>
      <div class="brand">
        <img src="/icon.svg" alt="" width="28" height="28" />
        <span>
          <Words text={status.value?.node ?? 'Hearthbus'} max={40} />
        </span>
        <button
          ref={menu}
          type="button"
          class="menu quiet"
          aria-expanded={open}
          aria-controls="places"
          onClick={() => setOpen(!open)}
        >
          Menu{waiting > 0 && !open ? <span class="count">{waiting}</span> : null}
        </button>
      </div>
      <nav id="places" aria-label="Pages">
        {PLACES.map(({ id, title }) => (
          <a key={id} href={href(id)} aria-current={id === page ? 'page' : undefined} onClick={() => setOpen(false)}>
            {title}
            {id === 'approvals' && waiting > 0 ? (
              <span class="count">
                {waiting}
                <span class="hidden-text"> waiting</span>
              </span>
            ) : null}
          </a>
        ))}
      </nav>
      <Foot />
    </div>
  )
}

function Foot(): JSX.Element {
  return (
    <div class="foot">
      <p class={`link-state ${connection.value}`} role="status">
        <span class="dot" aria-hidden="true" />
        {connection.value === 'live' ? 'Live' : connection.value === 'connecting' ? 'Connecting' : 'Disconnected'}
      </p>
      <div class="foot-buttons">
        <button type="button" class="small quiet" aria-pressed={soundOn.value} onClick={() => setSound(!soundOn.value)}>
          Sound {soundOn.value ? 'on' : 'off'}
        </button>
        <button type="button" class="small quiet" onClick={() => setTheme(theme.value === 'dark' ? 'light' : 'dark')}>
          {theme.value === 'dark' ? 'Light' : 'Dark'}
        </button>
        <button type="button" class="small quiet" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
      <p class="who">
        {me.value?.principal} · {me.value?.role}
      </p>
      <StopButton />
    </div>
  )
}

function Banner(): JSX.Element | null {
  if (connection.value === 'lost') {
    return (
      <p class="banner warn" role="alert">
        The gateway does not answer; it was last heard <Age ms={lostAtMs.value} />. What is shown may be old; the page
        comes back by itself.
      </p>
    )
  }
  if (status.value?.stopped === true)
    return <p class="banner bad">Everything is stopped: every change is refused until an admin resumes.</p>
  if (status.value?.mode === 'readonly')
    return <p class="banner">This node is read-only: its configuration refuses every change.</p>
  return null
}

function focusMain(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}
