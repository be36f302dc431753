import { Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useId, useRef, useState } from 'react';
import { useTimeZone } from '../api/queries';
import { useTexts } from '../texts/texts';
import {
  type Condition,
  conditionOf,
  type Fields,
  hasValue,
  jsonOf,
  type Kind,
  kindIn,
  type Operator,
  OPERATORS,
  type Row,
  rowWith,
  whereOf,
} from './condition.rules';
import { onText, optionsOf } from './fields';
import { localOf, momentOf } from './moments.rules';
import { Icon, RemoveButton } from './panel';

const NEW_ROW: Row = { field: '', operator: 'is', kind: 'text', text: '' };

interface BuilderProps {
  readonly value: Condition;
  readonly onChange: (condition: Condition) => void;
  readonly fields: Fields;
  readonly children?: ReactNode;
}

/** A condition of the REST API, as rows of field, operator and value, or as JSON. */
export function ConditionBuilder({ value, onChange, fields, children }: BuilderProps): ReactNode {
  const t = useTexts();
  const { rows, json } = value;
  const add = useRef<HTMLButtonElement>(null);
  const [isAdded, setAdded] = useState(false);
  const change = (next: readonly Row[]) => {
    setAdded(next.length > rows.length);
    onChange({ rows: next });
  };
  const asRows = json === undefined ? undefined : conditionOf(json, fields);
  const toggle = () => onChange(asRows ?? { rows: [], json: jsonOf(value) });
  return (
    <Stack gap="xs" role="group" aria-label={t.conditions.title}>
      {json !== undefined && (
        <Textarea
          label={t.conditions.json}
          description={t.conditions.jsonSays}
          rows={4}
          className="code"
          value={json}
          onChange={onText((text) => onChange({ rows: [], json: text }))}
        />
      )}
      {rows.map((row, index) => (
        <RowFields
          key={index}
          place={index}
          row={row}
          fields={fields}
          isNew={isAdded && index === rows.length - 1}
          change={(part) => change(rows.with(index, rowWith(row, part, fields)))}
          remove={() => {
            change(rows.toSpliced(index, 1));
            add.current?.focus();
          }}
        />
      ))}
      <Text c="dimmed" role="status">
        {asRows?.json !== undefined && t.conditions.onlyJson}
        {json === undefined && whereOf(value) === undefined && t.conditions.incomplete}
      </Text>
      <Group gap="xs">
        {json === undefined && (
          <Button ref={add} leftSection={<Icon name="add" size={16} />} onClick={() => change([...rows, NEW_ROW])}>
            {t.conditions.add}
          </Button>
        )}
        <Button disabled={asRows?.json !== undefined} onClick={toggle}>
          {json === undefined ? t.conditions.asJson : t.conditions.asForm}
        </Button>
        {children}
      </Group>
    </Stack>
  );
}

interface RowProps {
  readonly row: Row;
  readonly change: (part: Partial<Row>) => void;
}

interface RowFieldsProps extends RowProps {
  readonly place: number;
  readonly fields: Fields;
  readonly isNew: boolean;
  readonly remove: () => void;
}

function RowFields({ place, row, fields, isNew, change, remove }: RowFieldsProps): ReactNode {
  const t = useTexts();
  const known = useId();
  const { operators, operatorsOf } = t.conditions;
  const names = { ...operators, ...(row.kind in operatorsOf ? operatorsOf[row.kind as keyof typeof operatorsOf] : {}) };
  return (
    <Group gap="xs" align="flex-end" role="group" aria-label={t.conditions.one(place + 1)}>
      <TextInput
        label={place === 0 ? t.conditions.field : t.conditions.andField}
        size="xs"
        list={known}
        spellCheck={false}
        autoCapitalize="off"
        autoFocus={isNew}
        value={row.field}
        onChange={onText((field) => change({ field: field.trim() }))}
      />
      <datalist id={known}>
        {Object.keys(fields).map((field) => (
          <option key={field} value={field} />
        ))}
      </datalist>
      {kindIn(fields, row.field) !== row.kind && (
        <NativeSelect
          label={t.conditions.kind}
          size="xs"
          value={row.kind}
          data={optionsOf(t.conditions.kinds)}
          onChange={onText((kind) => change({ kind: kind as Kind }))}
        />
      )}
      <NativeSelect
        label={t.conditions.operator}
        size="xs"
        value={row.operator}
        data={OPERATORS[row.kind].map((value) => ({ value, label: names[value] }))}
        onChange={onText((operator) => change({ operator: operator as Operator }))}
      />
      {hasValue(row) && <ValueField row={row} change={change} />}
      <RemoveButton label={t.conditions.remove(place + 1)} remove={remove} />
    </Group>
  );
}

function ValueField({ row: { operator, kind, text }, change }: RowProps): ReactNode {
  const t = useTexts();
  const zone = useTimeZone();
  const field = {
    size: 'xs',
    label: operator === 'in' ? t.conditions.values : t.conditions.value,
    value: text,
    onChange: onText((value) => change({ text: value })),
  } as const;
  const flags = optionsOf({ true: t.common.yes, false: t.common.no });
  if (kind === 'flag') return <NativeSelect {...field} data={[{ value: '', label: '' }, ...flags]} />;
  if (kind === 'time')
    return (
      <TextInput
        {...field}
        type="datetime-local"
        step={1}
        value={localOf(text, zone)}
        onChange={onText((local) => change({ text: local === '' ? '' : momentOf(local, zone) }))}
      />
    );
  return kind === 'number' && operator !== 'in' ? (
    <TextInput {...field} type="number" step="any" />
  ) : (
    <TextInput {...field} />
  );
}
