/**
 * Tools: the whole catalogue, each tool with its form, and as a line for a terminal, for curl and for an MCP client.
 *
 * Does I/O: it runs what it is told to.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ToolSummaryView, ToolView } from '../../../src/web/views.ts'
import type { JsonObject } from '../core/json.ts'
import { status, toolNames, tools } from '../core/live.ts'
import { href, route } from '../core/route.ts'
import { firstSentence, line } from '../core/text.ts'
import { useTool } from '../core/tool.ts'
import { Code } from '../parts/copy.tsx'
import { Choice, Filters, searched } from '../parts/filters.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { Empty, Loading, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ToolRunner } from '../parts/tool-runner.tsx'
import { EffectBadge, Prose, ToolName, Words } from '../parts/words.tsx'

const EFFECTS = ['', 'reads', 'records', 'writes', 'sensitive', 'admin'].map(
  (effect) => [effect, effect === '' ? 'any' : effect] as const,
)

export function ToolsPage(): JSX.Element {
  const { rest } = route.value
  const all = tools.value
  if (all === undefined) {
    return (
      <Page title="Tools">
        <Loading what="The catalogue" />
      </Page>
    )
  }
  if (rest !== '') {
    return toolNames.value.has(rest) ? (
      <OneTool key={rest} name={rest} />
    ) : (
      <Page title="Tools">
        <Empty title="There is no such tool now.">
          <p>
            What a device offers goes with the device. <a href={href('tools')}>All tools</a>
          </p>
        </Empty>
      </Page>
    )
  }
  return <Catalogue all={all} />
}

function OneTool({ name }: { readonly name: string }): JSX.Element {
  const tool = useTool(name)
  if (tool.value !== undefined) return <ToolPage tool={tool.value} />
  return (
    <Page title={line(name, 80)} actions={<a href={href('tools')}>All tools</a>}>
      <Shown of={tool} what="The tool">
        {() => null}
      </Shown>
    </Page>
  )
}

function Catalogue({ all }: { readonly all: readonly ToolSummaryView[] }): JSX.Element {
  const { query } = route.value
  const [text, profile, effect] = [searched(), query.get('profile') ?? 'all', query.get('effect') ?? '']
  const profiles = [...new Set(all.flatMap((tool) => tool.profiles))]
  const shown = all.filter(
    (tool) =>
      tool.profiles.includes(profile) &&
      (effect === '' || tool.effect === effect) &&
      [tool.name, tool.title, tool.description].some((part) => part.toLowerCase().includes(text)),
  )
  return (
    <Page title="Tools" lead="What agents can call, and you can, too.">
      <Filters placeholder="name or what it does" shown={shown.length} of={all.length}>
        <Choice label="Profile" name="profile" value={profile} options={profiles.map((name) => [name, name])} />
        <Choice label="Effect" name="effect" value={effect} options={EFFECTS} />
      </Filters>
      <Table
        label="Tools"
        rows={shown}
        rowKey={({ name }) => name}
        height={640}
        onOpen={({ name }) => {
          location.hash = href('tools', name)
        }}
        empty={<Empty title="No tool fits the search." />}
        columns={[
          {
            name: 'Name',
            width: 'minmax(0,2fr)',
            cell: ({ name }) => (
              <a href={href('tools', name)}>
                <ToolName name={name} />
              </a>
            ),
          },
          { name: 'Effect', width: '7rem', cell: ({ effect: how }) => <EffectBadge effect={how} /> },
          { name: 'Family', width: '7rem', minor: true, cell: ({ family }) => <Words text={family} /> },
          {
            name: 'What it does',
            width: 'minmax(0,3fr)',
            minor: true,
            cell: ({ description }) => <Words text={firstSentence(description)} />,
          },
        ]}
      />
    </Page>
  )
}

function ToolPage({ tool }: { readonly tool: ToolView }): JSX.Element {
  const [body, setBody] = useState<JsonObject>({})
  return (
    <Page
      title={line(tool.title, 80)}
      lead={<code>{line(tool.name)}</code>}
      actions={<a href={href('tools')}>All tools</a>}
    >
      <Prose text={tool.description} />
      <Facts
        of={[
          ['Effect', <EffectBadge key="effect" effect={tool.effect} />],
          ['Family', <Words key="family" text={tool.family} />],
          ['Version', tool.version],
          ['Gives up after', `${tool.timeoutSeconds} s`],
          ['Profiles', tool.profiles.join(', ')],
        ]}
      />
      <Section title="Run it" note="As you, through the guard, into the ledger.">
        <ToolRunner tool={tool} onBody={setBody} />
      </Section>
      <Section title="Copy as">
        <h3>Command line</h3>
        <Code label="As a command" text={`hearthbus call ${tool.name} ${quoted(JSON.stringify(body))}`} />
        <h3>curl</h3>
        <Code label="For curl" text={curl(tool.name, body)} />
        <h3>MCP</h3>
        <Code
          label="As an MCP request"
          text={JSON.stringify(
            { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name, arguments: body } },
            null,
            2,
          )}
        />
      </Section>
      <Section title="Schema">
        <JsonTree value={tool.inputSchema} />
      </Section>
    </Page>
  )
}

function curl(name: string, body: JsonObject): string {
  const url = status.value?.url ?? location.origin
  const request = JSON.stringify({ tool: name, arguments: body })
  return `curl -s ${url}/api/call -H 'content-type: application/json' -d ${quoted(request)}`
}

/** For a shell: whatever a stranger named a tool stays one word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
