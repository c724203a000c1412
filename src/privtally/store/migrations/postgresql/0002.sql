-- What an operator says about a campaign is one of its options, so that it goes with the campaign.
UPDATE campaigns
SET options = convert_to(
    jsonb_set(convert_from(options, 'UTF8')::jsonb, '{about}', to_jsonb(settings.value))::text, 'UTF8'
)
FROM settings
WHERE settings.name = 'about.' || campaigns.id;

DELETE FROM settings WHERE name LIKE 'about.%';
