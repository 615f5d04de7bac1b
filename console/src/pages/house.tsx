/**
 * House: what the house is like, room by room, and the few things one changes most often.
 *
 * Does I/O: it reads through tools, and changes through the same guard as an agent does.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MeasurementSeriesView } from '../../../src/web/views.ts'
import { get } from '../core/api.ts'
import { ask } from '../core/ask.ts'
import { celsius } from '../core/format.ts'
import { HEATING_PLANES, HEATING_TOOL, heatingOf } from '../core/heating.ts'
import type { Heating, Room } from '../core/heating.ts'
import { DEVICES_TOOL } from '../core/homeseer.ts'
import { historyTurn, toolNames, tools } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { useResourceTurn } from '../core/turn.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Page, Section } from '../parts/frame.tsx'
import { HouseDevices } from '../parts/house-devices.tsx'
import { HouseVoices } from '../parts/house-voices.tsx'
import { isStale, Reading, Source } from '../parts/reading.tsx'
import { Empty, Loading, Shown } from '../parts/states.tsx'
import { TargetDialog } from '../parts/target-dialog.tsx'
import { Chart, Sparkline } from '../parts/trend.tsx'
import { Badge } from '../parts/words.tsx'

/** Values are announced as they come; read again no more often than this. */
const REST_MS = 5_000

export function HousePage(): JSX.Element {
  const names = toolNames.value
  const [heating, homeseer, voices] = [HEATING_TOOL, DEVICES_TOOL, 'devices.list'].map((name) => names.has(name))
  return (
    <Page title="House" lead="Every value says how old it is and where it comes from.">
      {tools.value === undefined ? <Loading what="The house" /> : null}
      {heating ? <HeatingPart /> : null}
      {homeseer ? <HouseDevices /> : null}
      {voices ? <HouseVoices /> : null}
      {tools.value === undefined || heating || homeseer || voices ? null : (
        <Empty title="No house is connected yet.">
          <p>
            Name an eBUS adapter, a HomeSeer or the devices’ listener in <code>hearthbus.yaml</code>, or look around in
            the virtual house: <code>hearthbus up --demo</code>.
          </p>
          <p>
            <a href={href('settings')}>What doctor says about this node</a>
          </p>
        </Empty>
      )}
    </Page>
  )
}

function HeatingPart(): JSX.Element {
  const turn = useResourceTurn({ prefix: 'ebus:' })
  const heating = useLoad(
    async () => {
      const wish = { planes: HEATING_PLANES, allow_partial: true, field_ages: true }
      const { data, fieldAtMs } = await ask(HEATING_TOOL, wish)
      return heatingOf(data, fieldAtMs)
    },
    [turn],
    REST_MS,
  )
  const history = useLoad(() => get<readonly MeasurementSeriesView[]>('/api/history'), [historyTurn.value])
  const series = new Map((history.value ?? []).map((one) => [one.id, one]))
  return (
    <Shown of={heating} what="The heating">
      {(now) => (
        <>
          <Section title="Rooms">
            {now.rooms.length === 0 ? (
              <Empty title="No rooms are known yet.">
                <p>The regulator is being asked; it takes a minute after the start.</p>
              </Empty>
            ) : (
              <ul class="cards">
                {now.rooms.map((room) => (
                  <li key={room.id}>
                    <RoomCard room={room} series={series} onChanged={heating.reload} />
                  </li>
                ))}
              </ul>
            )}
          </Section>
          <Plant heating={now} series={series} />
          {now.missing.length === 0 ? null : <p class="note warn">Not answered this time: {now.missing.join(', ')}.</p>}
        </>
      )}
    </Shown>
  )
}

type SeriesById = ReadonlyMap<string, MeasurementSeriesView>

function RoomCard({
  room,
  series,
  onChanged,
}: {
  readonly room: Room
  readonly series: SeriesById
  readonly onChanged: () => void
}): JSX.Element {
  const [open, setOpen] = useState<'trend' | 'target' | undefined>(undefined)
  const temperature = series.get(`ebus/${room.id}/current_temp_c`)
  const target = series.get(`ebus/${room.id}/target_temp_c`)
  return (
    <article class={isStale(room.atMs) ? 'card room stale' : 'card room'} aria-label={room.name}>
      <header>
        <h3>
          <bdi>{room.name}</bdi>
        </h3>
        {room.action === 'heating' || room.action === 'cooling' ? <Badge tone="accent">{room.action}</Badge> : null}
      </header>
      <p class="big">
        {celsius(room.celsius)}
        <span class="unit">C</span>
      </p>
      <button type="button" class="spark-button" onClick={() => setOpen('trend')}>
        <span class="hidden-text">Trend of {room.name}: </span>
        <Sparkline series={temperature} label={room.name} />
      </button>
      <p class="room-facts">
        <span>
          Target <strong>{celsius(room.targetCelsius)}</strong>
        </span>
        {room.humidityPct === undefined ? null : <span>{Math.round(room.humidityPct)} % humid</span>}
        <span>{room.mode}</span>
      </p>
      <div class="card-foot">
        <Source atMs={room.atMs} source="eBUS" />
        <button type="button" class="small" aria-label={`Change ${room.name}`} onClick={() => setOpen('target')}>
          Change
        </button>
      </div>
      {open === 'trend' ? (
        <Dialog title={room.name} onClose={() => setOpen(undefined)}>
          <Chart series={[temperature, target]} names={['Temperature', 'Target']} unit="°C" />
        </Dialog>
      ) : null}
      {open === 'target' ? <TargetDialog room={room} onClose={() => setOpen(undefined)} onChanged={onChanged} /> : null}
    </article>
  )
}

function Plant({ heating, series }: { readonly heating: Heating; readonly series: SeriesById }): JSX.Element {
  const { boiler, water, outsideCelsius, atMs } = heating
  const source = 'eBUS'
  return (
    <Section title="Heating and hot water">
      <div class="readings">
        <Reading label="Outside" value={celsius(outsideCelsius)} atMs={atMs.outside} source={source} />
        <Reading
          label="Hot water"
          value={celsius(water.celsius)}
          unit={water.targetCelsius === undefined ? '' : `of ${celsius(water.targetCelsius)}`}
          atMs={atMs.water}
          source={source}
        />
        <Reading
          label="Flame"
          value={boiler.flame === undefined ? '–' : boiler.flame ? 'burning' : 'off'}
          atMs={atMs.flame}
          source={source}
        />
        <Reading
          label="Modulation"
          value={boiler.modulationPct === undefined ? '–' : String(Math.round(boiler.modulationPct))}
          unit="%"
          atMs={atMs.modulation}
          source={source}
        />
        <Reading label="Flow" value={celsius(boiler.flowCelsius)} atMs={atMs.flow} source={source} />
        <Reading
          label="Pressure"
          value={boiler.pressureBar?.toFixed(1) ?? '–'}
          unit="bar"
          atMs={atMs.pressure}
          source={source}
        />
      </div>
      <details class="more">
        <summary>The last 24 hours</summary>
        <Chart
          series={[
            series.get('ebus/boiler/flow_temperature_c'),
            series.get('ebus/outside/temperature_c'),
            series.get('ebus/dhw/current_temp_c'),
          ]}
          names={['Flow', 'Outside', 'Hot water']}
          unit="°C"
        />
      </details>
    </Section>
  )
}
