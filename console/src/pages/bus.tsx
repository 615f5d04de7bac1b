/** Bus: nodes and what they offer, as a picture and as a table that says the same. */
import type { JSX } from 'preact'
import { get } from '../core/api.ts'
import { count, shortId, tookText } from '../core/format.ts'
import { callsTurn, registryTurn, status } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { line } from '../core/text.ts'
import { BusPicture } from '../parts/bus-picture.tsx'
import type { Capability, Topology } from '../parts/bus-picture.tsx'
import { Filters, searched } from '../parts/filters.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Badge, EffectBadge, Words } from '../parts/words.tsx'

/** Calls change the picture all the time; eyes want it less often. */
const REST_MS = 2_000

export function BusPage(): JSX.Element {
  const topology = useLoad(() => get<Topology>('/api/topology'), [registryTurn.value, callsTurn.value], REST_MS)
  const text = searched()
  return (
    <Page title="Bus" lead="Nodes, what they offer, and how well that works.">
      <Shown of={topology} what="The bus">
        {(shown) => {
          const all = [...shown.capabilitiesLocal, ...shown.capabilitiesRemote]
          const rows = all.filter((entry) => fits(entry, text))
          const quarantined = all.filter(({ quarantinedForMs }) => quarantinedForMs > 0).length
          return (
            <>
              <Section title="Picture">
                <Facts
                  of={[
                    ['Nodes', count(shown.peers.length + 1)],
                    ['Capabilities', count(all.length)],
                    ['In flight', count(shown.inFlightTotal)],
                    ['In quarantine', quarantined === 0 ? 'none' : count(quarantined)],
                  ]}
                />
                <BusPicture topology={shown} name={line(status.value?.node ?? 'this node', 30)} />
              </Section>
              {shown.peers.length === 0 ? null : (
                <Section title="Other nodes">
                  <Table
                    label="Other nodes"
                    rows={shown.peers}
                    rowKey={({ nodeId }) => nodeId}
                    columns={[
                      {
                        name: 'Name',
                        width: 'minmax(0,2fr)',
                        cell: ({ displayName, nodeId }) => <Words text={displayName ?? nodeId} />,
                      },
                      {
                        name: 'Found by',
                        width: '8rem',
                        minor: true,
                        cell: ({ source }) => <Words text={source ?? '–'} />,
                      },
                      { name: 'Offers', width: '6rem', cell: ({ capabilities }) => count(capabilities) },
                      { name: 'Heard', width: '8rem', cell: ({ seenAgoMs }) => `${tookText(seenAgoMs)} ago` },
                    ]}
                  />
                </Section>
              )}
              <Section title="Capabilities">
                <Filters placeholder="name, node, service" shown={rows.length} of={all.length} />
                <Table
                  label="Capabilities"
                  rows={rows}
                  rowKey={({ nodeId, name, version, instanceId }) => `${nodeId} ${name} ${version} ${instanceId}`}
                  height={560}
                  columns={[
                    { name: 'Name', width: 'minmax(0,3fr)', cell: ({ name }) => <code>{line(name)}</code> },
                    {
                      name: 'Node',
                      width: 'minmax(0,1fr)',
                      minor: true,
                      cell: ({ nodeId, isLocal }) => (isLocal ? 'here' : shortId(line(nodeId))),
                    },
                    {
                      name: 'Effect',
                      width: '6.5rem',
                      minor: true,
                      cell: ({ effect }) => <EffectBadge effect={effect} />,
                    },
                    { name: 'Health', width: '8rem', cell: health },
                    {
                      name: 'In flight',
                      width: '6rem',
                      minor: true,
                      cell: ({ inFlight, maxConcurrent }) => `${inFlight} of ${maxConcurrent}`,
                    },
                    {
                      name: 'p50 / p99',
                      width: '9rem',
                      minor: true,
                      cell: ({ samples, p50Ms, p99Ms }) =>
                        samples === 0 ? '–' : `${tookText(p50Ms)} / ${tookText(p99Ms)}`,
                    },
                  ]}
                />
              </Section>
            </>
          )
        }}
      </Shown>
    </Page>
  )
}

function health({ samples, successRate, quarantinedForMs }: Capability): JSX.Element {
  if (quarantinedForMs > 0) return <Badge tone="bad">quarantine {tookText(quarantinedForMs)}</Badge>
  if (samples === 0) return <Badge>not called yet</Badge>
  const percent = Math.round(successRate * 100)
  return <Badge tone={percent >= 95 ? 'good' : percent >= 70 ? 'warn' : 'bad'}>{percent} %</Badge>
}

function fits({ name, nodeId, owner }: Capability, text: string): boolean {
  return text === '' || [name, nodeId, owner].some((part) => part.toLowerCase().includes(text))
}
