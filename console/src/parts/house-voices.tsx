/** House voices: the ESP32 devices, and whether they are there. */
import type { JSX } from 'preact'
import { ask } from '../core/ask.ts'
import { booleanAt, listAt, stringAt } from '../core/json.ts'
import { historyTurn, registryTurn } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { line } from '../core/text.ts'
import { Section } from './frame.tsx'
import { Empty, Shown } from './states.tsx'
import { Age, Badge } from './words.tsx'

export function HouseVoices(): JSX.Element {
  // A device that comes or goes brings or takes its tools; one that stays is heard again and again, and nobody says so.
  const turns = [registryTurn.value, historyTurn.value]
  const devices = useLoad(async () => (await ask('devices.list', { limit: 500 })).data, turns, 2_000)
  return (
    <Section title="Voice devices" note={<a href={href('devices')}>All of them</a>}>
      <Shown of={devices} what="The devices">
        {(data) => {
          const list = listAt(data, 'devices')
          if (list.length === 0) {
            return (
              <Empty title="No device is enrolled.">
                <p>
                  One that asks to come in shows a code; <a href={href('devices')}>let it in</a>.
                </p>
              </Empty>
            )
          }
          return (
            <ul class="cards">
              {list.slice(0, 60).map((device) => {
                const online = booleanAt(device, 'online') === true
                return (
                  <li key={stringAt(device, 'id') ?? ''}>
                    <article class={online ? 'card' : 'card stale'}>
                      <header>
                        <h3>
                          <bdi>{line(stringAt(device, 'name') ?? '', 60)}</bdi>
                        </h3>
                        <Badge tone={online ? 'good' : 'calm'}>{online ? 'online' : 'asleep'}</Badge>
                      </header>
                      <p class="source">
                        {line(stringAt(device, 'board') ?? '', 40)} · heard{' '}
                        <Age ms={Date.parse(stringAt(device, 'last_seen') ?? '')} />
                      </p>
                    </article>
                  </li>
                )
              })}
            </ul>
          )
        }}
      </Shown>
    </Section>
  )
}
